// command/context/waits.h - what a request may wait for without holding a thread: the next group
// commit, new data behind a tailable cursor, another state of the server.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bson/builder.h"
#include "sched/operation.h"
#include "storage/durability.h"
#include "wire/handler.h"

namespace catalog {
class Collection;
}

namespace command {

// Wakes a suspended connection at most once, and never after it gave up waiting. Shared with those
// who may wake it.
class WakeOnce {
  public:
    explicit WakeOnce(wire::Waker& waker) : waker_(&waker) {}
    void wake();
    void disarm();

  private:
    std::mutex mutex_;
    wire::Waker* waker_;  // guarded by mutex_; null: woken, or nothing waits
};

// The wait for the commit that makes a write durable.
class CommitWait {
  public:
    using Clock = sched::Operation::Clock;

    explicit CommitWait(wire::Waker& waker);
    ~CommitWait();
    CommitWait(const CommitWait&) = delete;
    CommitWait& operator=(const CommitWait&) = delete;

    // Registers with the engine; the waker is called when the commit is done. Returns false when
    // there is nothing to wait for.
    bool start(storage::Durability& durability);
    bool done() const { return waiter_->committed.load(std::memory_order_acquire); }
    // Once done: stores the milliseconds that it took where they were asked for.
    void finish(bson::Buffer& reply);

    // finish() is to store them as an int32 at this offset of the reply buffer.
    void report_at(size_t offset) { fields_.push_back(offset); }
    void clear_wait_fields() { fields_.clear(); }

  private:
    // Registered with the engine; keeps itself alive until the commit is done, even if the
    // connection is closed before.
    struct WakingWaiter : storage::CommitWaiter {
        std::shared_ptr<WakeOnce> wake;
        std::shared_ptr<WakingWaiter> self;
        std::atomic<bool> committed{false};
    };

    void disarm();

    wire::Waker& waker_;
    const std::shared_ptr<WakingWaiter> waiter_;
    std::shared_ptr<WakeOnce> wake_;  // null: not waiting
    Clock::time_point started_{};
    std::vector<size_t> fields_;
};

// The wait of a tailable cursor for its next document, or of a hello for a change. The request is
// served again after a wake-up or at the deadline.
class DataWait {
  public:
    using Clock = sched::Operation::Clock;

    explicit DataWait(wire::Waker& waker) : waker_(waker) {}
    ~DataWait() { disarm(); }
    DataWait(const DataWait&) = delete;
    DataWait& operator=(const DataWait&) = delete;

    // A request begins.
    void reset();
    // The same one is served again.
    void retry();

    bool is_retry() const { return retry_; }
    // Sets until when the request may wait. The deadline is not set on its first try.
    void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }
    Clock::time_point deadline() const { return deadline_; }
    bool may_wait_longer() const { return Clock::now() < deadline_; }
    // Begins to wait: what is returned wakes the connection, unless the wait is over by then.
    std::function<void()> begin();
    // The next insert into the collection is to wake it (database lock held).
    void wake_on_insert(catalog::Collection& collection);
    // Keeps what may wake it, until the wait is over.
    void hold(std::shared_ptr<void> watch) { watch_ = std::move(watch); }
    void end() { disarm(); }
    // Wakes it for other reasons; does nothing once the wait is over.
    std::weak_ptr<WakeOnce> waker() const { return wake_; }

  private:
    void disarm();

    wire::Waker& waker_;
    std::shared_ptr<WakeOnce> wake_;
    std::shared_ptr<void> notice_;  // of the next insert
    std::shared_ptr<void> watch_;
    bool retry_ = false;
    Clock::time_point deadline_{};
};

}  // namespace command
