// catalog/index_build.h - building one index over a collection: scan, sort, bulk load; or, in the
// background, key by key, while others use the collection.
#pragma once

#include <exception>
#include <functional>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "catalog/catalog.h"
#include "storage/engine.h"

namespace catalog {

// exclusive. Builds the index whose stored definition is `spec`; it must not exist yet. Logs start
// and end, commits now and then, ends early when the operation is killed. Throws base::Error 11000,
// 17282, 10088, ...; the index is then gone again. If there is a yield point, the keys of one
// document are work with a limit (sched/work_limit.h). `log` hears of the index, in the commit that
// completes it; null where it is there again.
void build_index(Collection& collection, storage::Engine& engine, bson::Doc spec,
                 sched::YieldPoint* yield_point = nullptr, ChangeLog* log = nullptr);

// exclusive. Does the second half, for an index that is registered already (compact): fills and
// completes the index in `slot`. If that fails, the index is dropped.
void fill_index(Collection& collection, storage::Engine& engine, int slot,
                sched::YieldPoint* yield_point = nullptr, ChangeLog* log = nullptr);

// exclusive. Builds indexes that are to be there again: all are begun before the first is filled,
// so that a start after a crash, whichever commit was the last before it, knows of all of them.
// `failed` is called, in the handler, for each that cannot be built, which is gone; it may rethrow.
// A shutdown ends it with base::Error 11600: what is not filled then stays begun, for the next
// start.
using BuildFailed = std::function<void(const bson::Object& spec, const std::exception& error)>;
void build_indexes(Collection& collection, storage::Engine& engine,
                   const std::vector<bson::Object>& specs, const BuildFailed& failed,
                   ChangeLog* log = nullptr);

// Helpers for dropping and rebuilding indexes (exclusive, but all_specs): the stored definitions,
// copied; and the slot of an index that is there, which moves when another build is finished or
// another index dropped.
std::vector<bson::Object> all_specs(const Collection& collection);
int slot_of(Collection& collection, std::string_view name);

}  // namespace catalog
