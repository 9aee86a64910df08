// replica/following.h - what a member that follows another one tells of that: the source, why it
// cannot follow, and up to which entry it has applied the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "oplog/entry.h"
#include "peer/interrupt.h"

namespace replica {

// Counters of what this member has fetched since its start.
struct FollowCounts {
    std::atomic<int64_t> entries{0};
    std::atomic<int64_t> batches{0};
    std::atomic<int64_t> bytes{0};
    std::atomic<int64_t> sources{0};  // connections to one
};

// Any thread may call its methods.
class Following {
  public:
    // Return the sync source that the member follows now, and why it does not follow; either may be
    // empty.
    std::string syncing_to() const;
    std::string message() const;
    void set(const std::string& syncing_to, const std::string& message);
    // False: that was the last problem, too.
    bool note_problem(const std::string& what);

    // `changed` is called when it has applied entries, or its journal has more, by the thread that
    // applies or commits; null: not any more. It must be short.
    void watch(std::function<void()> changed);
    void note_applied(oplog::Position last);
    void note_durable();
    oplog::Position applied() const;

    // The tailer is going to follow a source: returns the interrupt of all that waits for it, and
    // leaves the one before. Who reads after that which member the primary is may rely on
    // leave_source() to end the waiting.
    std::shared_ptr<const peer::Interrupt> begin_source();
    // The same one again.
    std::shared_ptr<const peer::Interrupt> source_end() const;
    // Held while an entry of the source is applied, by who has seen that it is to be followed.
    std::mutex& applying() { return applying_; }
    // After leave_source(): no entry of the source is applied any more. No lock.
    void await_applied() { const std::lock_guard guard(applying_); }
    // The source is not to be followed any more: what waits for it ends at once.
    void leave_source();

    // A run of reports to the primary begins.
    void begin_reports();
    bson::ObjectId reports_since() const;

    FollowCounts& counts() { return counts_; }
    const FollowCounts& counts() const { return counts_; }

  private:
    FollowCounts counts_;
    mutable std::mutex watch_mutex_;
    std::function<void()> changed_;  // guarded by it, as the next
    oplog::Position applied_;
    std::mutex applying_;  // taken before any lock
    mutable std::mutex mutex_;
    // Guarded by it, all that follow.
    std::string syncing_to_;
    std::string message_;
    std::string last_problem_;
    bson::ObjectId reports_since_{};
    std::shared_ptr<peer::Interrupt> source_end_ = std::make_shared<peer::Interrupt>();
};

}  // namespace replica
