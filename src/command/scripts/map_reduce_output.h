// command/scripts/map_reduce_output.h - where mapReduce puts its results.
#pragma once

#include <functional>
#include <string>

#include "bson/builder.h"
#include "command/request/invocation.h"

namespace command {

struct MapReduceTarget {
    enum class Mode : uint8_t { inline_, replace, merge, reduce };
    Mode mode = Mode::inline_;
    std::string db;
    std::string collection;
    bool names_db = false;  // the client did

    std::string ns() const { return db + "." + collection; }
};

// Reads the field `out`. Throws base::Error 13606, 13522, 13111, 10011, 10076, 15895.
MapReduceTarget read_target(const bson::Element& out, std::string_view db);

// Stores a result, {_id, value}, at a time. `reduced` puts the value that is there and the new one
// of a key together, for Mode::reduce. Returns how many documents the target has then.
using TakeResult = std::function<bool(bson::Buffer& out)>;
using Reduced = std::function<bson::Object(bson::Doc before, bson::Doc result)>;
int64_t store_results(Invocation& invocation, const MapReduceTarget& target, const TakeResult& next,
                      const Reduced& reduced);

}  // namespace command
