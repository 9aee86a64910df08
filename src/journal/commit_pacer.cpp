#include "journal/commit_pacer.h"

namespace journal {

CommitPacer::CommitPacer(os::Clock& clock, const CommitDemand& demand)
    : demand_(demand), sleeper_(clock.make_sleeper()) {}

void CommitPacer::wait() {
    const int64_t slice = slice_us(interval().value_or(default_interval_ms_ * int64_t{1000}));
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
