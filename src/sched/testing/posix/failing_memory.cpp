#include "sched/testing/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "sched/memory.h"
#include "sched/operation.h"

namespace sched::test {

namespace {

std::atomic<bool (*)(size_t)> g_gives{nullptr};

struct Fault {
    int64_t in = 0;  // 0: none
    size_t bytes = 0;
    bool failed = false;
};
constinit thread_local Fault t_fault;

bool fails_now(size_t bytes) {
    if (t_fault.in == 0 || bytes < t_fault.bytes) return false;
    if (Operation::current() == nullptr || is_uninterruptible()) return false;
    if (--t_fault.in != 0) return false;
    t_fault.failed = true;
    return true;
}

bool system_gives(size_t bytes) {
    bool (*const gives)(size_t) = g_gives.load(std::memory_order_relaxed);
    return gives == nullptr || gives(bytes);
}

void* allocate(size_t bytes, size_t alignment) {
    if (fails_now(bytes)) throw memory::LimitExceeded();
    for (;;) {
        void* p = nullptr;
        if (system_gives(bytes))
            p = alignment == 0 ? std::malloc(bytes == 0 ? 1 : bytes)
                               : std::aligned_alloc(
                                     alignment, (bytes + alignment - 1) / alignment * alignment);
        if (p != nullptr) return p;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) throw std::bad_alloc();
        handler();
    }
}

void* allocate_or_null(size_t bytes, size_t alignment) noexcept {
    try {
        return allocate(bytes, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace

bool fail_allocation(int64_t nth, size_t bytes) {
    t_fault.in = nth;
    t_fault.bytes = bytes;
    return std::exchange(t_fault.failed, false);
}

void set_system(bool (*gives)(size_t)) {
    g_gives.store(gives);
}

}  // namespace sched::test

namespace sched::memory {

// In the place of that of sched/posix/memory.cpp.
void* system_realloc(void* p, size_t bytes) {
    if (test::fails_now(bytes)) throw LimitExceeded();
    return test::system_gives(bytes) ? std::realloc(p, bytes) : nullptr;
}

}  // namespace sched::memory

using sched::test::allocate;
using sched::test::allocate_or_null;

// Every form is replaced, since those of a sanitizer do not call one another as the library's do.
void* operator new(size_t bytes) {
    return allocate(bytes, 0);
}
void* operator new[](size_t bytes) {
    return allocate(bytes, 0);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    return allocate_or_null(bytes, 0);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
    return allocate_or_null(bytes, 0);
}
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate_or_null(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate_or_null(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete[](void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, size_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, size_t) noexcept {
    std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete(void* p, size_t, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
    std::free(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
    std::free(p);
}
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    std::free(p);
}
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
    std::free(p);
}
