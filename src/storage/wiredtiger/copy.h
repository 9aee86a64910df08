// storage/wiredtiger/copy.h - a copy of the library's files while it goes on: its last checkpoint,
// of which it removes nothing until then, and its log.
#pragma once

#include <string>

#include "storage/kv/host.h"
#include "storage/wiredtiger/connection.h"

namespace wt {

// See kv::Map::copy_to(). REQUIRES: the log has been synced since the last commit.
void copy_files(const kv::Host& host, const Connection& connection, const std::string& from,
                const kv::Copy& copy);

}  // namespace wt
