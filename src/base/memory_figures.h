// base/memory_figures.h - how much that is which base/memory.h counts: for who decides by it.
#pragma once

#include <cstdint>

namespace base::memory {

// What all operations may hold together.
int64_t all_limit();
// What the calling thread's operation holds.
int64_t held();

}  // namespace base::memory
