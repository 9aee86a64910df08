// command/commands/writes.h - what the items of update and delete may have, shared with explain.
#pragma once

#include "command/request/fields.h"
#include "command/write/write_ops.h"
#include "dialect/dialect.h"

namespace command {

Fields update_item_fields();
// Throws base::Error for what is no such item: 9, 14, 40414, 40415, 72, 51198, 40324.
UpdateRequest parse_update_item(bson::Doc item, dialect::Dialect dialect);
Fields delete_item_fields();

}  // namespace command
