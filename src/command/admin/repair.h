// command/admin/repair.h - what repairDatabase and --repair do to a database.
#pragma once

#include <string_view>

#include "catalog/catalog.h"

namespace command {

class CursorManager;

// Rewrites every collection of a database with what can be read of it, and builds its indexes
// again. Takes global W. Throws base::Error for a database that cannot be opened, and when
// collections had to be left as they are.
void repair_database(catalog::Catalog& catalog, CursorManager& cursors, std::string_view name);

}  // namespace command
