#include "base/signal_stack.h"

#include <sys/mman.h>

namespace base {

SignalStack::SignalStack() {
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kBytes;
    if (::sigaltstack(&stack, &before_) != 0) {
        ::munmap(memory, kBytes);
        return;
    }
    memory_ = memory;
}

SignalStack::~SignalStack() {
    if (memory_ == nullptr) return;
    ::sigaltstack(&before_, nullptr);
    ::munmap(memory_, kBytes);
}

}  // namespace base
