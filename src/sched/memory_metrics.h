// sched/memory_metrics.h - the sums that sched/memory.h counts, for code that decides by them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sched::memory {

// Returns how many bytes all operations may hold together.
int64_t all_limit();
// Whether all together may hold so much more. Always for work that is never refused.
bool may_hold_more(size_t bytes);
// Returns how many bytes the calling thread's operation holds.
int64_t held();

}  // namespace sched::memory
