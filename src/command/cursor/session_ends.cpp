#include "command/cursor/session_ends.h"

#include "base/log.h"
#include "command/context/operation_context.h"
#include "command/context/transactions.h"
#include "command/cursor/cursors.h"

namespace command {

void SessionEnds::end(const SessionSet& doomed) {
    sessions_.end(doomed);
    transactions_.end(doomed);
    cursors_.kill_sessions([&doomed](const SessionId& id) { return doomed.contains(id); });
}

void SessionEnds::kill(const SessionSet& doomed, const OperationContext& except) {
    contexts_.each([&](OperationContext& context) {
        if (&context == &except) return;
        context.current().visit([&](const CurrentRequest::Shown& request) {
            // While it is visited it goes on: the id is that of this request.
            const sched::Operation& operation = context.operation();
            if (request.session && doomed.contains(*request.session) && operation.active())
                context.kill(operation.id());
        });
    });
    end(doomed);
}

template <typename Visit>
void SessionEnds::each_running(Visit&& visit) {
    contexts_.each([&](OperationContext& context) {
        context.current().visit([&](const CurrentRequest::Shown& request) {
            if (request.session && context.operation().active()) visit(*request.session);
        });
    });
}

std::set<SessionId> SessionEnds::busy() {
    std::set<SessionId> busy = cursors_.sessions();
    busy.merge(transactions_.sessions());
    each_running([&](const SessionId& id) { busy.insert(id); });
    return busy;
}

void SessionEnds::expire(LogicalSessions::Clock::time_point now) {
    // A long operation uses its session all the while.
    each_running([&](const SessionId& id) { sessions_.keep(id, now); });
    for (const SessionId& id : transactions_.sessions())
        sessions_.keep(id, now);
    const size_t count = sessions_.expire(now);
    if (count > 0) base::log::info("ended {} unused sessions", count);
    // Kills each cursor that belongs to no session any more: one may have been opened while its
    // session ended.
    cursors_.kill_sessions([this](const SessionId& id) { return !sessions_.contains(id); });
    transactions_.forget([this](const SessionId& id) { return !sessions_.contains(id); });
}

}  // namespace command
