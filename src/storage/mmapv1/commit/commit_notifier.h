// storage/mmapv1/commit/commit_notifier.h - commit numbers and the waiters for them (journal
// spec 1.8).
//
// Waiters and commits draw from one counter. A commit satisfies the waiters with smaller numbers:
// those that registered before it began, whose writes it therefore covers.
#pragma once

#include <cstdint>
#include <mutex>

#include "journal/commit_schedule.h"
#include "journal/counters.h"
#include "storage/durability.h"

namespace mmapv1 {

class CommitNotifier {
  public:
    // Counts those it satisfies, and tells the schedule of waiters and of finished commits.
    CommitNotifier(journal::Counters& counters, journal::CommitSchedule& schedule)
        : counters_(counters), schedule_(schedule) {}
    void add(storage::CommitWaiter* waiter);
    bool has_waiters() const;
    // The number of a commit that begins now.
    uint64_t begin_commit();
    // That commit is durable: calls `done` of all it covers, on this thread, without locks.
    void finish_commit(uint64_t number);

  private:
    journal::Counters& counters_;
    journal::CommitSchedule& schedule_;
    mutable std::mutex mutex_;
    uint64_t last_number_ = 0;
    storage::CommitWaiter* first_ = nullptr;  // in the order of their numbers
    storage::CommitWaiter* last_ = nullptr;
};

}  // namespace mmapv1
