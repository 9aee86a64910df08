// command/commands/find_and_modify.h - what findAndModify asks for, shared with explain.
#pragma once

#include "bson/view.h"
#include "command/request/invocation.h"
#include "command/write/write_ops.h"

namespace command {

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

}  // namespace command
