// The clock of the machine, through the standard library.

#include <chrono>

#include "os/clock.h"
#include "os/system_sleeper.h"

namespace os {

namespace {

class SystemClock final : public Clock {
  public:
    int64_t monotonic_us() override {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    int64_t wall_ms() override {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
    std::unique_ptr<Sleeper> make_sleeper() override { return make_system_sleeper(); }
};

}  // namespace

Clock& system_clock() {
    static SystemClock instance;
    return instance;
}

}  // namespace os
