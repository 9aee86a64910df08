// command/request/suspension.h - how a request waits: for what, until when, and how it goes on. The
// command says it; the session acts upon it, and holds no thread while it waits.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dcheck.h"
#include "command/request/members_awaited.h"
#include "sched/operation.h"

namespace command {

class Suspension {
  public:
    using Clock = sched::Operation::Clock;

    enum class For : uint8_t {
        // The reply is complete, and leaves
        nothing,  // at once,
        commit,   // after the next group commit,
        members,  // once members() have the write, and after that commit where has_commit(),
        time,     // at `until`.
        // There is no reply yet, and the message is served again
        data,  // when there is some, or at `until`,
        turn,  // at `until`: nothing is done so far.
        // Neither
        batch,  // the next batch follows as soon as this one is sent,
        end,    // the connection closes without a reply.
    };

    Suspension() = default;
    static Suspension until_time(Clock::time_point at) { return Suspension(For::time, at); }
    // Until DataWait wakes the connection.
    static Suspension until_data(Clock::time_point at_latest) {
        DCHECK(at_latest != Clock::time_point{});
        return Suspension(For::data, at_latest);
    }
    static Suspension until_turn(Clock::time_point at) { return Suspension(For::turn, at); }
    static Suspension until_sent() { return Suspension(For::batch); }
    static Suspension closing() { return Suspension(For::end); }

    // A reply may wait for both.
    void add_commit() {
        DCHECK(has_reply() && what_ != For::time);
        has_commit_ = true;
        if (what_ == For::nothing) what_ = For::commit;
    }
    void add_members(const MembersAwaited& members) {
        DCHECK(has_reply() && what_ != For::time);
        members_ = members;
        what_ = For::members;
    }

    // There is none to wait for.
    void drop_commit() {
        DCHECK(what_ == For::members);
        has_commit_ = false;
    }

    For what() const { return what_; }
    explicit operator bool() const { return what_ != For::nothing; }
    bool has_reply() const { return what_ <= For::time; }
    bool has_commit() const { return has_commit_; }
    const MembersAwaited& members() const {
        DCHECK(what_ == For::members);
        return *members_;
    }
    Clock::time_point until() const { return until_; }

  private:
    explicit Suspension(For what, Clock::time_point until = Clock::time_point::max())
        : what_(what), until_(until) {}

    For what_ = For::nothing;
    bool has_commit_ = false;
    Clock::time_point until_ = Clock::time_point::max();
    std::optional<MembersAwaited> members_ = {};
};

}  // namespace command
