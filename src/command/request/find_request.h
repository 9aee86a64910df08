// command/request/find_request.h - what a client asks of a query: the command find and OP_QUERY
// fill it.
#pragma once

#include <cstdint>

#include "bson/builder.h"
#include "query/plan/query.h"

namespace command {

// Not yet canonicalised. Views point into the message.
struct FindRequest {
    query::FindQuery query;
    query::FindQuery::Parts parts;
    bson::Element let;
    bson::Element collation;
    bool computes = false;    // parts.projection is one that $project makes
    int64_t batch_size = -1;  // -1: default
    int64_t to_return = 0;    // ntoreturn, which may be a limit or a batch size
    bool single_batch = false;
    bool await_data = false;
    bool no_timeout = false;

    // Modifiers beside the filter, by OP_QUERY.
    bool explain = false;
    int64_t max_time_ms = 0;
    bson::Object sort_of_array;  // parts.sort, where it came as an array
};

}  // namespace command
