#include "journal/commit_pacer.h"

namespace journal {

CommitPacer::CommitPacer(os::Clock& clock, const CommitDemand& demand)
    : demand_(demand), sleeper_(clock.make_sleeper()) {}

void CommitPacer::wait() {
    const int configured = interval_ms_;
    const int64_t slice = slice_us(configured != 0 ? configured : default_interval_ms_.load());
    for (int i = 0; i < 3 && !stopping_; ++i) {
        if (i > 0 && (demand_.somebody_waits() || demand_.much_uncommitted())) return;
        sleeper_->sleep_us(slice);
    }
}

void CommitPacer::stop() {
    stopping_ = true;
    sleeper_->wake();
}

}  // namespace journal
