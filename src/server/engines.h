// server/engines.h - the storage engines of this program. This is the one place that names them:
// everything else speaks storage::Engine.
//
// A new engine is a row in the table of engines.cpp, a choice of --storageEngine
// (options/storage.h) and an entry in the SConscript.
#pragma once

#include <iosfwd>
#include <memory>

#include "storage/engine.h"

namespace server {

// Opens the dbpath with the engine that --storageEngine names. Throws base::Error when it cannot be
// used; the text says what to do.
std::unique_ptr<storage::Engine> open_engine();

// --salvage: writes what can be read of the dbpath, and tells of it. Returns whether nothing is
// damaged. Throws base::Error when it cannot begin or cannot write.
bool salvage(std::ostream& report);

}  // namespace server
