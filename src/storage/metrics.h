// storage/metrics.h - metrics of the engine for serverStatus that belong to no database. Counted
// from any thread, over the life of the process. A metric that an engine lacks stays 0.
#pragma once

#include <atomic>
#include <cstdint>

namespace storage {

// Searches for the space of a new record among the freed ones of a namespace.
struct FreeSpaceSearches {
    std::atomic<int64_t> requests{0};
    std::atomic<int64_t> scanned{0};    // freed records that were examined
    std::atomic<int64_t> exhausted{0};  // lists that were given up because they took too long
};

inline FreeSpaceSearches& free_space_searches() {
    static FreeSpaceSearches instance;
    return instance;
}

}  // namespace storage
