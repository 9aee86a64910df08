// election/primary_watch.h - whether the primary that a member knows is gone: for its own
// candidacy, and for its consent to another one's.
#pragma once

#include <cstdint>

namespace election {

class PrimaryWatch {
  public:
    // There is another primary, or another term; or it gave a sign of life.
    void begin(int64_t now_ms) {
        heard_ms_ = now_ms;
        is_refused_ = has_resigned_ = false;
    }
    void heard(int64_t now_ms) {
        heard_ms_ = now_ms;
        is_refused_ = false;
    }
    // Its process is seen to be gone: connections to it are refused.
    void refused() { is_refused_ = true; }
    // It says itself that it is the primary no more.
    void resigned() { has_resigned_ = true; }
    bool is_gone(int64_t now_ms, int64_t timeout_ms) const {
        return is_refused_ || has_resigned_ || now_ms - heard_ms_ >= timeout_ms;
    }

  private:
    int64_t heard_ms_ = 0;
    bool is_refused_ = false;
    bool has_resigned_ = false;
};

}  // namespace election
