#include "command/scripts/inner_command.h"

#include <new>
#include <thread>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/locks.h"
#include "command/request/registry.h"
#include "command/request/run_command.h"
#include "sched/compute_slots.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr std::string_view kNeverWaits = "a command of a script waits for no data";

// What a command of the client changes in the client; the outer one's is there again at the end.
class OuterState {
  public:
    explicit OuterState(Invocation& outer)
        : outer_(outer),
          report_(outer.client.report()),
          deadline_(outer.client.operation().deadline()) {}
    ~OuterState() {
        outer_.client.report() = report_;
        outer_.client.operation().set_deadline(deadline_);
        try {
            describe(outer_, *outer_.service.commands().find(outer_.name));
        } catch (const std::bad_alloc&) {
            outer_.client.current().describe("command", "", {});
        }
    }
    OuterState(const OuterState&) = delete;
    OuterState& operator=(const OuterState&) = delete;

  private:
    Invocation& outer_;
    const OpReport report_;
    const std::optional<sched::Operation::Clock::time_point> deadline_;
};

// A limit of its own could be later than that of the outer one.
bson::Object without_time_limit(bson::Doc command) {
    bson::Builder kept;
    for (const bson::Element& e : command)
        if (e.name() != "maxTimeMS") kept.append(e);
    return kept.object();
}

}  // namespace

bson::Object run_inner_command(Invocation& outer, std::string_view db, bson::Doc command) {
    sched::Operation::check();
    const bson::Object own = without_time_limit(command);
    const OuterState state(outer);
    bson::Buffer reply;
    for (;;) {
        reply.clear();
        Invocation inner{outer.service, outer.client, db, {}, own};
        inner.secondary_ok = outer.secondary_ok;
        run_command(inner, reply);
        if (inner.suspension.has_reply()) break;
        if (inner.suspension.what() != Suspension::For::turn)
            return bson::make("ok", 0.0, "errmsg", kNeverWaits, "code", base::kIllegalOperation);
        // Too many wait for this lock.
        sched::ComputeSlots::release();
        std::this_thread::sleep_for(kRetryAfter);
        sched::Operation::check();
    }
    DCHECK(reply.size() >= 5);
    bson::Object answer{bson::Doc(reply.data())};
    if (answer["ok"].to_double() != 1) {
        const base::Error error(answer["code"].to_int32(),
                                std::string(answer["errmsg"].as_string()));
        if (sched::is_interruption(error)) throw base::Error(error);
    }
    return answer;
}

bson::Object run_inner_command_or_throw(Invocation& outer, std::string_view db, bson::Doc command) {
    bson::Object reply = run_inner_command(outer, db, command);
    if (reply["ok"].to_double() == 1) return reply;
    throw base::Error(reply["code"].to_int32(), std::string(reply["errmsg"].as_string()));
}

}  // namespace command
