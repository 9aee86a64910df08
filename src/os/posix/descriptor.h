// os/posix/descriptor.h - a file descriptor that is closed with its object.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace os {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}  // -1: none
    ~Descriptor() { reset(); }
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }

    explicit operator bool() const { return fd_ >= 0; }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    // Leaves errno alone.
    void reset() {
        if (fd_ < 0) return;
        const int number = errno;
        ::close(fd_);
        errno = number;
    }

    int fd_ = -1;
};

}  // namespace os
