#include "base/signal_stack.h"

#include <sys/mman.h>

#include <csignal>

namespace base {

struct SignalStack::State {
    void* memory = nullptr;
    stack_t before{};  // a sanitizer's own, for example
};

SignalStack::SignalStack() {
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    auto state = std::make_unique<State>();
    state->memory = memory;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kBytes;
    if (::sigaltstack(&stack, &state->before) != 0) {
        ::munmap(memory, kBytes);
        return;
    }
    state_ = std::move(state);
}

SignalStack::~SignalStack() {
    if (!state_) return;
    ::sigaltstack(&state_->before, nullptr);
    ::munmap(state_->memory, kBytes);
}

}  // namespace base
