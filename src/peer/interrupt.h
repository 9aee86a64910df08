// peer/interrupt.h - ends what waits for another server, or for time to pass.
#pragma once

#include <chrono>

namespace peer {

// Once set, it stays so. Any thread.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    void set();
    bool is_set() const;
    // Waits until it is set, or so long. Returns is_set().
    bool wait_for(std::chrono::milliseconds limit) const;
    // Readable once it is set.
    int descriptor() const { return descriptor_; }

  private:
    const int descriptor_;
};

}  // namespace peer
