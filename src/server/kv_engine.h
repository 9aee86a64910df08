// server/kv_engine.h - storage engines over an ordered map (storage/kv/), whose library
// is a shared object of its own: engine_NAME.so in small letters, beside the program or in
// ../lib/mongod-dur.
//
// The dbpath has mongod.lock, storage.bson, which names the engine, and the folder of the map,
// which is called as the engine is.
#pragma once

#include <memory>
#include <string>

#include "storage/engine.h"

namespace server {

struct OrderedSettings {
    int64_t cache_bytes = 0;
    int64_t memory_bytes = 0;  // that the process may have
    std::string config = {};   // in the library's own words
};

// Opens the dbpath. Throws base::Error where this build has no such engine, and when the dbpath
// cannot be used: 10296, 10309, 10310 (mongod.lock), 72 (files of another engine, or of another
// program).
std::unique_ptr<storage::Engine> open_ordered_engine(const std::string& name,
                                                     const OrderedSettings& settings);

}  // namespace server
