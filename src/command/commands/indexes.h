// command/commands/indexes.h - definitions of indexes, as they come by OP_MSG and as they are
// shown.
#pragma once

#include "bson/builder.h"
#include "dialect/dialect.h"

namespace command {

// Returns a stored definition as a client expects it. For OP_MSG it is of version 2 and does not
// name its collection: programs of today compare it with the one that they want, and make the index
// anew where it differs.
bson::Object shown_index(bson::Doc stored, dialect::Dialect dialect);
// Whether documents can expire by an index of this key: one field other than _id, not hashed.
bool may_expire_by(bson::Doc key);

// Refuses a definition that today's servers refuse, whatever indexes there are. Throws base::Error
// 14, 67, 197, 40413, 40414.
void check_definition(bson::Doc spec);

}  // namespace command
