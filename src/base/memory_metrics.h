// base/memory_metrics.h - the sums that base/memory.h counts, for code that decides by them.
#pragma once

#include <cstdint>

namespace base::memory {

// What all operations may hold together.
int64_t all_limit();
// What the calling thread's operation holds.
int64_t held();

}  // namespace base::memory
