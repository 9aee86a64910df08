#include "command/service.h"

#include "base/log.h"
#include "command/operation_context.h"

namespace command {

namespace {

constexpr std::chrono::minutes kCursorTimeout{10};

}  // namespace

Service::Service(catalog::Catalog& catalog, ServerContext& context,
                 std::span<const Family> families)
    : catalog_(catalog),
      context_(context),
      commands_(families),
      sessions_(static_cast<size_t>(context.max_sessions)),
      users_(catalog),
      profiler_(catalog),
      fsync_lock_(catalog.engine()) {}

void Service::add(OperationContext& context) {
    const std::lock_guard guard(contexts_mutex_);
    contexts_.insert(&context);
}

void Service::remove(OperationContext& context) {
    const std::lock_guard guard(contexts_mutex_);
    contexts_.erase(&context);
}

void Service::expire_cursors() {
    const size_t count = cursors_.expire(kCursorTimeout);
    if (count > 0) base::log::info("killed {} idle cursors", count);
}

void Service::end_sessions(const SessionSet& doomed) {
    sessions_.end(doomed);
    cursors_.kill_sessions([&doomed](const SessionId& id) { return doomed.contains(id); });
}

void Service::kill_sessions(const SessionSet& doomed, const OperationContext& except) {
    each_context([&](OperationContext& context) {
        if (&context == &except) return;
        context.current().visit([&](const CurrentRequest::Shown& request) {
            // While it is visited it goes on: the id is that of this request.
            base::Operation& operation = context.operation();
            if (request.session && doomed.contains(*request.session) && operation.active())
                operation.kill(operation.id());
        });
    });
    end_sessions(doomed);
}

void Service::expire_sessions(LogicalSessions::Clock::time_point now) {
    // What runs for long uses its session all the while.
    each_context([&](OperationContext& context) {
        context.current().visit([&](const CurrentRequest::Shown& request) {
            if (request.session && context.operation().active())
                sessions_.keep(*request.session, now);
        });
    });
    const size_t count = sessions_.expire(now);
    if (count > 0) base::log::info("ended {} sessions that were not used", count);
    // All that belong to no session any more: one may have been opened while its session ended.
    cursors_.kill_sessions([this](const SessionId& id) { return !sessions_.contains(id); });
}

}  // namespace command
