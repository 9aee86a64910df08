// base/thread_scratch.h - what a thread keeps from call to call for speed: buffers, caches, and the
// memory of what a call returned last.
//
// Only the function that has it looks into it: what two rooms agree on while they run is handed
// over as an argument, not left on the thread.
#pragma once

namespace base {

// Returns the calling thread's T, made at its first call. T is the user's own type: two that use
// the same type share it.
template <typename T>
T& thread_scratch() {
    static thread_local T value;
    return value;
}

}  // namespace base
