// command/commands/writes.h - what the items of update and delete may have, shared with explain.
#pragma once

#include "command/request/fields.h"

namespace command {

Fields update_item_fields();
Fields delete_item_fields();

}  // namespace command
