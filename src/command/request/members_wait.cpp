#include "command/request/members_wait.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/request/retryable_write.h"

namespace command {

namespace {

constexpr const char* kTimedOut = "waiting for replication timed out";

const char* text_of(int outcome) {
    switch (outcome) {
        case base::kPrimarySteppedDown:
            return "Primary stepped down while waiting for replication";
        case base::kUnknownReplWriteConcern:
            return "The configuration of the set no longer has this write concern mode";
        default:
            return "Not enough data-bearing nodes";
    }
}

}  // namespace

void MembersWait::start(replica::Member& member, Metrics& metrics, const MembersAwaited& awaited) {
    DCHECK(wake_ == nullptr);
    member_ = &member;
    metrics_ = &metrics;
    awaited_ = awaited;
    outcome_ = replica::Progress::kWaiting;
    text_.clear();
    started_ = Clock::now();
    deadline_ = awaited.limit_ms > 0 ? started_ + std::chrono::milliseconds(awaited.limit_ms)
                                     : Clock::time_point::max();
    wake_ = std::make_shared<WakeOnce>(waker_);
    waiter_ = member.wait(awaited.position, awaited.need, [wake = wake_] { wake->wake(); });
}

bool MembersWait::is_over(const sched::Operation& operation) {
    if (outcome_ != replica::Progress::kWaiting) return true;
    DCHECK(waiter_ != nullptr);
    if (int outcome = waiter_->outcome(); outcome != replica::Progress::kWaiting) {
        const bool holds = is_of_write() ? member_->role().has_lease()
                                         : awaited_.rollbacks == member_->rollbacks();
        if (outcome == 0 && !holds) outcome = base::kPrimarySteppedDown;
        end(outcome, outcome == 0 ? "" : text_of(outcome));
        return true;
    }
    const std::optional<Clock::time_point> limit = operation.deadline();
    if (limit) deadline_ = std::min(deadline_, *limit);
    try {
        operation.check_interrupt();
    } catch (const base::Error& error) {
        end(error.code(), error.what());
        return true;
    }
    if (Clock::now() < deadline_) return false;
    end(base::kWriteConcernFailed, kTimedOut);
    metrics_->write_timeouts.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void MembersWait::end(int outcome, const char* text) {
    DCHECK(outcome != replica::Progress::kWaiting);
    give_up();
    outcome_ = outcome;
    text_ = text;
    took_ms_ = base::ms_since(started_);
    if (!is_of_write()) return;
    metrics_->write_waits.fetch_add(1, std::memory_order_relaxed);
    metrics_->write_waits_ms.fetch_add(took_ms_, std::memory_order_relaxed);
}

void MembersWait::give_up() {
    if (wake_ == nullptr) return;
    wake_->disarm();
    wake_ = nullptr;
    member_->give_up(waiter_, awaited_.position, awaited_.need);
    waiter_ = nullptr;
}

std::optional<base::Error> MembersWait::failure() const {
    DCHECK(outcome_ != replica::Progress::kWaiting);
    const bool told = outcome_ == 0 || outcome_ == base::kWriteConcernFailed ||
                      awaited_.of == MembersAwaited::Of::write;
    if (told) return {};
    return base::Error(outcome_, text_);
}

bool MembersWait::is_of_write() const {
    return awaited_.of == MembersAwaited::Of::write ||
           awaited_.of == MembersAwaited::Of::last_error;
}

bool MembersWait::is_reported() const {
    return awaited_.of == MembersAwaited::Of::last_error || outcome_ != 0;
}

void MembersWait::report(bson::Builder& out) const {
    DCHECK(outcome_ != replica::Progress::kWaiting && is_reported());
    if (awaited_.of == MembersAwaited::Of::last_error) return report_last_error(out);
    append_concern_error(outcome_, text_.c_str(), outcome_ == base::kWriteConcernFailed, out);
    append_retry_label(awaited_.is_numbered, outcome_, out);
}

void MembersWait::report_last_error(bson::Builder& out) const {
    const auto took = static_cast<int32_t>(took_ms_);
    const bool timed_out = outcome_ == base::kWriteConcernFailed;
    if (timed_out)
        out.append("waited", took).append("wtimeout", true);
    else
        out.append("wtime", took);
    const std::vector<bson::Object> members = member_->progress().members_with(awaited_.position);
    if (timed_out && members.size() <= 1) {
        out.append_null("writtenTo");
    } else {
        bson::Builder list = out.sub_array("writtenTo");
        for (const bson::Object& each : members)
            list.push(each.doc());
    }
    if (timed_out)
        out.append("err", "timeout");
    else
        out.append_null("err");
}

}  // namespace command
