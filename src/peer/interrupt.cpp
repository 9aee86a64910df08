#include "peer/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace peer {

namespace {

int open_descriptor() {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        base::fail(base::kInternalError, "cannot make an eventfd: {}", std::strerror(errno));
    return descriptor;
}

}  // namespace

Interrupt::Interrupt() : descriptor_(open_descriptor()) {}

Interrupt::~Interrupt() {
    ::close(descriptor_);
}

void Interrupt::set() {
    const uint64_t one = 1;
    // It fails only where so many calls have set it that the count is full.
    [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof one);
}

bool Interrupt::is_set() const {
    return wait_for(std::chrono::milliseconds(0));
}

bool Interrupt::wait_for(std::chrono::milliseconds limit) const {
    const auto until = std::chrono::steady_clock::now() + limit;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd waited{descriptor_, POLLIN, 0};
        const int ready = ::poll(&waited, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

}  // namespace peer
