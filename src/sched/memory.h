// sched/memory.h - what operations hold of the heap, and the two limits on it: one for each
// operation, one for all together.
//
// Memory that grows with what clients send counts where it grows: a bson::Buffer and an input
// buffer by reallocate() and release(), containers and trees by sched/counted.h. It counts towards
// the operation that the thread runs (sched::Operation::Scope). Memory that one operation makes and
// another one frees (a cursor's) makes the first count too much and the second too little, until it
// ends. Beyond a limit std::bad_alloc is thrown, which ends the operation and nothing else; a few
// bytes may go a little beyond, so that an error can be reported. Work of no operation is counted
// in the sum only, and never refused.
//
// If the system itself gives no more, operations end in the same way. Work that must not fail for
// want of memory (work of no operation, a write that has begun, unwinding an operation) gets what
// was kept back for it, while that lasts; until it is kept anew, operations and messages get no
// more than a megabyte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace sched::memory {

// The limit until set_limits() says otherwise.
constexpr int64_t kAllBytes = 1024 * 1024 * 1024;
constexpr int64_t kOperationBytes = kAllBytes / 5 * 2;
constexpr size_t kReserveBytes = size_t{32} * 1024 * 1024;

// The error that a limit throws.
class LimitExceeded : public std::bad_alloc {
  public:
    const char* what() const noexcept override {
        return "the operation needs more memory than it may have (parameter memoryLimitMB)";
    }
};

// Sets the limits; at any time, from any thread.
void set_limits(int64_t operation_bytes, int64_t all_bytes);

// Returns how many bytes one operation may hold.
int64_t operation_limit();
// Whether the calling thread's operation has used up half of what it may hold, or all together
// three quarters: code that can do with less memory should.
bool is_scarce();

// Keeps kReserveBytes back, if they are not there. At start, and from time to time, for when they
// have been used. They are address space only until then.
void keep_reserve();

// Returns to the system what malloc keeps for later, if that is much and something has been added
// to it since the last call. Called from time to time.
void give_back_unused();

// The calling thread now works for an owner that holds `held` bytes; returns what the one before
// held. `limited`: it is an operation.
int64_t enter(int64_t held, bool limited);

// These call realloc and free, and count the bytes. Throws std::bad_alloc. Memory that belongs to
// no operation and may be refused, such as a message that arrives, never uses what was kept back.
// REQUIRES: bytes > 0.
enum class Reserve { as_needed, never };
void* reallocate(void* p, size_t bytes, Reserve reserve = Reserve::as_needed);
void release(void* p);

// These count bytes that were taken in other ways, and given back. The first throws LimitExceeded,
// having counted nothing.
void count_taken(size_t bytes);
void count_released(size_t bytes);

}  // namespace sched::memory
