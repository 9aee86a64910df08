// command/commands/count.h - what count and distinct ask for, shared with explain.
#pragma once

#include <cstdint>
#include <string_view>

#include "bson/view.h"
#include "command/request/invocation.h"

namespace command {

struct CountRequest {
    bson::Doc query;
    int64_t limit = 0;  // means the same below 0 as above; 0: none
    int64_t skip = 0;
    bson::Element hint;
    bson::Element collation;
};
// Reads a count, of which take_fields() has taken the fields. Throws base::Error where skip is no
// number, or below 0.
CountRequest parse_count(const Invocation& count);

struct DistinctRequest {
    std::string_view key;
    bson::Doc query;
    bson::Element collation;
};
DistinctRequest parse_distinct(const Invocation& distinct);

}  // namespace command
