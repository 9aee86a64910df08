// command/commands/newer_fields.h - fields of later servers that change what a request means. They
// are refused wherever they stand: ignored, they would lead to wrong answers or wrong documents
// (wire spec 0 rule 7).
#pragma once

#include <initializer_list>
#include <string_view>

#include "bson/view.h"

namespace command {

// Throws base::Error 72 when `request` has one of the fields; null, {} and [] ask for nothing, and
// a collation may be the simple one.
void refuse_newer_fields(bson::Doc request, std::initializer_list<std::string_view> fields);
// The same for fields that only ask for something when they are true.
void refuse_if_asked(bson::Doc request, std::initializer_list<std::string_view> fields);
// Throws base::Error 9 when `update` is a pipeline.
void refuse_pipeline(const bson::Element& update);
// Refuses a projection that the old server reads otherwise than later ones. Throws base::Error 2
// where it asks for what they compute, a value or an expression, which was taken for true; 31249
// and 31250 for one path inside another. Only for clients that speak OP_MSG, since older ones mean
// what the old server did.
void check_newer_projection(bson::Doc projection);
// What one item of an update or delete command may not have, but an update its pipeline.
void refuse_newer_item_fields(bson::Doc item);

}  // namespace command
