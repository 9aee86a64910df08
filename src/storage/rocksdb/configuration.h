// storage/rocksdb/configuration.h - how the library is set up.
#pragma once

#include <rocksdb/options.h>

#include <memory>

#include "storage/kv/host.h"
#include "storage/rocksdb/watch.h"

namespace rocks {

// Returns our options, with the words of settings.config, "name=value;name=value", over them.
// Throws base::Error for other words than those that only trade speed, memory and space.
rocksdb::Options configuration(const kv::MapSettings& settings, rocksdb::Env* env,
                               std::shared_ptr<Watch> watch);

}  // namespace rocks
