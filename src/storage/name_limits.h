// storage/name_limits.h - how long the names of collections and indexes may be. The length of index
// keys has two limits too: that of the old server's files, and none (sorted_index.h).
#pragma once

#include <cstddef>

namespace storage {

// In bytes.
struct NameLimits {
    size_t ns;        // "db.coll"
    size_t index_ns;  // "db.coll.$name"
};
// The limits of mmapv1's files, and of the old messages that name a collection.
constexpr NameLimits kOldNameLimits{.ns = 120, .index_ns = 127};
// Those of today's servers, where the name of an index has no limit: it has one here, since the
// catalogue of an engine holds all of them in memory.
constexpr NameLimits kNameLimitsOfToday{.ns = 255, .index_ns = 255 + 2 + 16 * 1024};

}  // namespace storage
