#include "command/request/service.h"

#include "base/log.h"
#include "options/server_parameters.h"

namespace command {

Service::Service(catalog::Catalog& catalog, ServerContext& context,
                 std::span<const Family> families)
    : catalog_(catalog),
      context_(context),
      commands_(families),
      access_control_(catalog),
      contexts_(catalog, metrics_),
      sessions_(LogicalSessions::kOpenMax, [this] { return session_ends_.busy(); }),
      session_ends_(sessions_, cursors_, contexts_),
      fsync_lock_(catalog.engine()),
      opener_(catalog, fsync_lock_, context),
      profiler_(catalog, fsync_lock_) {}

void Service::expire_cursors() {
    const size_t count =
        cursors_.expire(std::chrono::milliseconds(options::cursor_timeout_ms.get()));
    if (count > 0) base::log::info("killed {} idle cursors", count);
}

}  // namespace command
