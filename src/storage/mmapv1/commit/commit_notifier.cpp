#include "storage/mmapv1/commit/commit_notifier.h"

#include "base/dcheck.h"

namespace mmapv1 {

void CommitNotifier::add(storage::CommitWaiter* waiter) {
    DCHECK(waiter->done != nullptr);
    const std::lock_guard lock(mutex_);
    waiter->ticket = ++last_number_;
    waiter->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = waiter;
    last_ = waiter;
    schedule_.note_waiter();
}

uint64_t CommitNotifier::begin_commit() {
    const std::lock_guard lock(mutex_);
    return ++last_number_;
}

bool CommitNotifier::has_waiters() const {
    const std::lock_guard lock(mutex_);
    return first_ != nullptr;
}

void CommitNotifier::finish_commit(uint64_t number) {
    storage::CommitWaiter* satisfied = nullptr;
    uint64_t satisfied_count = 0;
    {
        const std::lock_guard lock(mutex_);
        DCHECK(number > 0 && number <= last_number_);  // begin_commit()
        storage::CommitWaiter* last_satisfied = nullptr;
        satisfied = first_;
        while (first_ != nullptr && first_->ticket < number) {
            ++satisfied_count;
            last_satisfied = first_;
            first_ = first_->next;
        }
        schedule_.note_commit(static_cast<int>(satisfied_count));
        if (last_satisfied == nullptr) return;
        last_satisfied->next = nullptr;
    }
    counters_.record(journal::Metric::acknowledged_waiters, satisfied_count);
    while (satisfied != nullptr) {
        storage::CommitWaiter* waiter = satisfied;
        satisfied = waiter->next;  // the waiter may be gone after done
        waiter->done(waiter);
    }
}

}  // namespace mmapv1
