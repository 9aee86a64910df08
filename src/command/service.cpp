#include "command/service.h"

#include "base/log.h"

namespace command {

namespace {

constexpr std::chrono::minutes kCursorTimeout{10};

}  // namespace

Service::Service(catalog::Catalog& catalog, ServerContext& context,
                 std::span<const Family> families)
    : catalog_(catalog),
      locks_(catalog.engine().locks()),
      durability_(catalog.engine().durability()),
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

}  // namespace command
