#include "wire/handler_memory.h"

#include <new>

#include "base/dcheck.h"

namespace wire {

void* HandlerMemory::take(size_t bytes) {
    if (bytes <= sizeof(Slot::bytes))
        for (Slot& slot : slots_)
            if (!slot.taken.exchange(true, std::memory_order_acquire)) return slot.bytes;
    return ::operator new(bytes);
}

void HandlerMemory::give_back(void* p) {
    for (Slot& slot : slots_) {
        if (p == slot.bytes) {
            DCHECK(slot.taken.load(std::memory_order_relaxed));
            return slot.taken.store(false, std::memory_order_release);
        }
    }
    ::operator delete(p);
}

}  // namespace wire
