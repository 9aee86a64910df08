// command/request/members_wait.h - the wait of a connection for members of its set, which holds no
// thread, and what its reply says of how that ended.
#pragma once

#include <memory>
#include <optional>

#include "command/context/waits.h"
#include "command/observe/counters.h"
#include "command/request/members_awaited.h"
#include "replica/member.h"
#include "sched/operation.h"
#include "wire/handler.h"

namespace command {

class MembersWait {
  public:
    using Clock = sched::Operation::Clock;

    explicit MembersWait(wire::Waker& waker) : waker_(waker) {}
    ~MembersWait() { give_up(); }
    MembersWait(const MembersWait&) = delete;
    MembersWait& operator=(const MembersWait&) = delete;

    // No lock. The waker is called when it is over. `member` and `metrics` outlive this.
    void start(replica::Member& member, Metrics& metrics, const MembersAwaited& awaited);
    // Looks, and ends it when its time is over or the operation is to end.
    bool is_over(const sched::Operation& operation);
    // When to look again, if nothing happens before.
    Clock::time_point deadline() const { return deadline_; }

    // Once it is over: nothing, or the error by which the whole request fails.
    std::optional<base::Error> failure() const;
    // Whether the reply says something of it.
    bool is_reported() const;
    // Appends that part of the reply.
    void report(bson::Builder& out) const;

  private:
    bool is_of_write() const;
    void end(int outcome, const char* text);
    void give_up();
    void report_last_error(bson::Builder& out) const;

    wire::Waker& waker_;
    replica::Member* member_ = nullptr;
    Metrics* metrics_ = nullptr;
    MembersAwaited awaited_;
    std::shared_ptr<WakeOnce> wake_;  // null: not waiting
    replica::Progress::Handle waiter_;
    Clock::time_point started_{};
    Clock::time_point deadline_{};
    // Once it is over.
    int outcome_ = replica::Progress::kWaiting;
    std::string text_;
    int64_t took_ms_ = 0;
};

}  // namespace command
