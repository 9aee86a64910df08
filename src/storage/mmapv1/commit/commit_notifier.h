// storage/mmapv1/commit/commit_notifier.h - commit numbers and those who wait for one (journal
// spec 1.8).
//
// Waiters and commits draw from one counter. A commit satisfies the waiters with smaller numbers:
// those that registered before it began, whose writes it therefore covers.
#pragma once

#include <cstdint>
#include <mutex>

#include "journal/counters.h"
#include "storage/durability.h"

namespace mmapv1 {

class CommitNotifier {
  public:
    // Counts those it satisfies.
    explicit CommitNotifier(journal::Counters& counters) : counters_(counters) {}
    void add(storage::CommitWaiter* waiter);
    bool anybody_registered() const;
    // The number of a commit that begins now.
    uint64_t begin_commit();
    // That commit is durable: calls `done` of all it covers, on this thread, without locks.
    void finish_commit(uint64_t number);
    // What the journal thread sees. The end of any commit clears it, also for waiters that came
    // while it ran and are not satisfied: they wait for the full interval, as in the old server
    // (D4).
    bool somebody_waits() const;

  private:
    journal::Counters& counters_;
    mutable std::mutex mutex_;
    uint64_t last_number_ = 0;
    int visible_waiters_ = 0;
    storage::CommitWaiter* first_ = nullptr;  // in the order of their numbers
    storage::CommitWaiter* last_ = nullptr;
};

}  // namespace mmapv1
