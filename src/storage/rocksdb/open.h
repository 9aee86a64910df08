// storage/rocksdb/open.h - an ordered map (storage/kv/map.h) of the library RocksDB.
//
// One column family holds all tables: the key of a row is the number of its table, 4 bytes,
// big-endian, then its key in the table. A commit is a batch of the library, which is written as a
// whole. No two sessions change one row, so nothing is locked here; a session reads a snapshot by a
// snapshot of the library. Nothing is synced but by sync_log() and checkpoint().
#pragma once

#include <memory>

#include "storage/kv/host.h"
#include "storage/kv/map.h"

namespace rocksdb {
class FileSystem;
}

namespace rocks {

// Throws base::Error if the directory holds something that is not ours, is damaged or cannot be
// used, and for words of the configuration that docs/engines.md does not list. `files`, for tests,
// stands in the place of the real ones.
std::unique_ptr<kv::Map> open_map(const kv::MapSettings& settings,
                                  std::shared_ptr<rocksdb::FileSystem> files = nullptr);

}  // namespace rocks
