// Only the journal and what it needs are built for Windows; no operation runs there, so nothing is
// counted.
#include "sched/memory.h"

#include <cstdlib>

namespace sched::memory {

void set_limits(int64_t, int64_t) {}

int64_t operation_limit() {
    return kOperationBytes;
}

bool is_scarce() {
    return false;
}

void keep_reserve() {}
void give_back_unused() {}

int64_t enter(int64_t, bool) {
    return 0;
}

void* reallocate(void* p, size_t bytes, Reserve) {
    void* now = std::realloc(p, bytes);
    if (now == nullptr) throw std::bad_alloc();
    return now;
}

void release(void* p) {
    std::free(p);
}

void count_taken(size_t) {}

void count_released(size_t) {}

}  // namespace sched::memory
