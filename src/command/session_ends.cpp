#include "command/session_ends.h"

#include "base/log.h"
#include "command/operation_context.h"
#include "command/service.h"

namespace command {

void end_sessions(Service& service, const SessionSet& doomed) {
    service.sessions().end(doomed);
    service.cursors().kill_sessions([&doomed](const SessionId& id) { return doomed.contains(id); });
}

void kill_sessions(Service& service, const SessionSet& doomed, const OperationContext& except) {
    service.each_context([&](OperationContext& context) {
        if (&context == &except) return;
        context.current().visit([&](const CurrentRequest::Shown& request) {
            // While it is visited it goes on: the id is that of this request.
            const sched::Operation& operation = context.operation();
            if (request.session && doomed.contains(*request.session) && operation.active())
                context.kill(operation.id());
        });
    });
    end_sessions(service, doomed);
}

namespace {

// Visits the sessions of what runs.
template <typename Visit>
void each_running(Service& service, Visit&& visit) {
    service.each_context([&](OperationContext& context) {
        context.current().visit([&](const CurrentRequest::Shown& request) {
            if (request.session && context.operation().active()) visit(*request.session);
        });
    });
}

}  // namespace

std::set<SessionId> busy_sessions(Service& service) {
    std::set<SessionId> busy = service.cursors().sessions();
    each_running(service, [&](const SessionId& id) { busy.insert(id); });
    return busy;
}

void expire_sessions(Service& service, LogicalSessions::Clock::time_point now) {
    LogicalSessions& sessions = service.sessions();
    // What runs for long uses its session all the while.
    each_running(service, [&](const SessionId& id) { sessions.keep(id, now); });
    const size_t count = sessions.expire(now);
    if (count > 0) base::log::info("ended {} unused sessions", count);
    // All that belong to no session any more: one may have been opened while its session ended.
    service.cursors().kill_sessions(
        [&sessions](const SessionId& id) { return !sessions.contains(id); });
}

}  // namespace command
