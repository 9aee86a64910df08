// sched/memory_metrics.h - the sums that sched/memory.h counts, for code that decides by them.
#pragma once

#include <cstdint>

namespace sched::memory {

// Returns how many bytes all operations may hold together.
int64_t all_limit();
// Returns how many bytes the calling thread's operation holds.
int64_t held();

}  // namespace sched::memory
