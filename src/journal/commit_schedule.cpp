#include "journal/commit_schedule.h"

#include "options/journal.h"

namespace journal {

CommitInterval configured_commit_interval() {
    if (!options::journal_commit_interval.is_set()) return {};
    return options::journal_commit_interval.get() * 1000;
}

CommitSchedule::CommitSchedule(os::Clock& clock, const CommitDemand& demand)
    : demand_(demand), sleeper_(clock.make_sleeper()) {}

void CommitSchedule::wait() {
    const int64_t slice = slice_us(interval().value_or(default_interval_us()));
    for (int i = 0; i < 3 && !stopping_; ++i) {
        if (i > 0 && (visible_waiters_ > 0 || demand_.much_uncommitted())) return;
        if (!sleeper_->sleep_us(slice)) return;  // woken
    }
}

void CommitSchedule::stop() {
    stopping_ = true;
    sleeper_->wake();
}

}  // namespace journal
