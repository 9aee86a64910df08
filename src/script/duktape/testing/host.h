// script/duktape/testing/host.h - a host of scripts that counts what they use.
#pragma once

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "script/script.h"

namespace script {

// One at a time.
class TestHost {
  public:
    TestHost() {
        self_ = this;
        host_ = server_host();
        host_.spend = [](int64_t cost) {
            if ((self_->ticks_ -= cost) < 0)
                base::fail(base::kExceededTimeLimit, "the time of the test is over");
        };
        host_.take = [](size_t bytes) {
            self_->held_ += bytes;
            self_->most_ = std::max(self_->most_, self_->held_);
        };
        host_.give_back = [](size_t bytes) { self_->held_ -= bytes; };
        host_.log = [](std::string_view) {};
    }

    const Host& host() const { return host_; }
    void limit_ticks(int64_t ticks) { ticks_ = ticks; }
    size_t held() const { return held_; }
    size_t most_held() const { return most_; }

  private:
    static inline TestHost* self_ = nullptr;
    Host host_{};
    int64_t ticks_ = int64_t{1} << 40;
    size_t held_ = 0;
    size_t most_ = 0;
};

// The code of the error that a call throws; 0: none.
inline int error_code(const std::function<void()>& call) {
    try {
        call();
    } catch (const base::Error& e) {
        return e.code();
    }
    return 0;
}

}  // namespace script
