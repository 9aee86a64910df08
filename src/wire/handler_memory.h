// wire/handler_memory.h - memory for the handlers of an event loop that must not fail for want of
// it: those that wake connections, wait for clients, read the clock. A handler that is lost there
// is lost for good.
//
// Inside wire/ only. The handlers of one moment take theirs from here, further ones from the heap.
// Any thread. It outlives the loop's io_context.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace wire {

class HandlerMemory {
  public:
    void* take(size_t bytes);
    void give_back(void* p);

  private:
    struct Slot {
        alignas(std::max_align_t) std::byte bytes[256];
        std::atomic<bool> taken{false};
    };
    std::array<Slot, 16> slots_;
};

template <typename T>
struct HandlerAllocator {
    using value_type = T;
    explicit HandlerAllocator(HandlerMemory& from) : memory(&from) {}
    template <typename U>
    HandlerAllocator(const HandlerAllocator<U>& other) : memory(other.memory) {}
    T* allocate(size_t n) { return static_cast<T*>(memory->take(n * sizeof(T))); }
    void deallocate(T* p, size_t) { memory->give_back(p); }
    template <typename U>
    bool operator==(const HandlerAllocator<U>& other) const {
        return memory == other.memory;
    }
    HandlerMemory* memory;
};

// A handler that lies there until it is called.
template <typename Call>
struct KeptHandler {
    using allocator_type = HandlerAllocator<void>;
    allocator_type get_allocator() const { return allocator_type(*memory); }
    template <typename... Args>
    void operator()(Args&&... args) {
        call(std::forward<Args>(args)...);
    }
    HandlerMemory* memory;
    Call call;
};

template <typename Call>
KeptHandler<Call> kept(HandlerMemory& memory, Call call) {
    return {&memory, std::move(call)};
}

}  // namespace wire
