// command/commands/find.h - what find, count, distinct and findAndModify ask for, shared with
// explain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "bson/view.h"
#include "command/context/locks.h"
#include "command/request/find_request.h"
#include "command/request/invocation.h"
#include "command/write/write_ops.h"
#include "query/expression/let_variables.h"
#include "query/plan/distinct.h"

namespace command {

// Reads a find command, of which take_fields() has taken the fields. A client of today means a
// projection as later servers read it. Throws base::Error 9 (unknown field), 14, 2.
FindRequest parse_find(const Invocation& find);

// Parses the projection of one that computes, before the query is canonicalised; nothing of others.
// `let` may be null.
void compile_projection(FindRequest& request,
                        const std::shared_ptr<const query::LetVariables>& let);

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
    bson::Element hint;
};
DistinctRequest parse_distinct(const Invocation& distinct);
// Returns how a distinct takes its values from an index; nothing where documents tell them.
// REQUIRES: there is a collection.
std::optional<query::DistinctPlan> plan_by_index(CollectionLock& lock, std::string_view path,
                                                 const bson::Element& hint, query::FindQuery& query,
                                                 const query::DistinctValues& values);

struct FindAndModifyRequest {
    bson::Doc query;
    bson::Element given_sort;
    bson::Doc fields;
    bson::Element hint;
    bson::Element given_update;
    bson::Element array_filters;
    bson::Element collation;
    bson::Element let;
    bool remove = false;
    bool upsert = false;
    bool return_new = false;
    Validation validation = Validation::asked;
    bool keeps_empty_timestamps = false;

    // Set when the request as a whole is checked.
    bson::Doc sort;
    bson::Doc update;
    bool by_pipeline = false;  // `update` is an array of stages
    bool computes = false;     // `fields` are such as $project makes
    bool has_update = false;
    bool remove_beside_update = false;  // refused as soon as a document is found
};
// Reads the fields that take_fields() has taken, and checks none beside another.
FindAndModifyRequest bind_find_and_modify(const Invocation& invocation);
// Reads and checks all of it. Throws base::Error 9, or 10065 for a sort that is no document.
FindAndModifyRequest parse_find_and_modify(const Invocation& invocation);
Fields find_and_modify_fields();

}  // namespace command
