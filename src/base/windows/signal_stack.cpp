#include "base/signal_stack.h"

#include <windows.h>

namespace base {

struct SignalStack::State {};

SignalStack::SignalStack() {
    ULONG bytes = kBytes;
    ::SetThreadStackGuarantee(&bytes);
}

SignalStack::~SignalStack() = default;

}  // namespace base
