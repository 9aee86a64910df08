// base/signal_stack.h - room for a signal handler to run when a thread has used up its own stack.
#pragma once

#include <memory>

namespace base {

// Gives the calling thread an alternate signal stack while the object lives; handlers that are
// installed with SA_ONSTACK then also run after a stack overflow. One belongs at the start of every
// thread's function. Memory is taken only when a handler runs. Without memory for it the thread
// goes on as if there were none. Windows has no such stack: there a part of the thread's own is
// kept free for handlers, until the thread ends.
class SignalStack {
  public:
    SignalStack();
    ~SignalStack();
    SignalStack(const SignalStack&) = delete;
    SignalStack& operator=(const SignalStack&) = delete;

  private:
    static constexpr size_t kBytes = 64 * 1024;

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace base
