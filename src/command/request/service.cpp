#include "command/request/service.h"

#include "base/error.h"
#include "base/log.h"
#include "options/server_parameters.h"
#include "sched/blocking.h"
#include "storage/lock.h"

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
      profiler_(catalog, fsync_lock_) {}

void Service::finish_opening(catalog::Database& database) {
    if (!database.writable()) return;
    database.drop_temporary();
    database.recover_interrupted_builds(context_.retry_index_builds);
}

void Service::open_again(std::string_view db) {
    // While fsync has everything locked, a waiter for W would block readers.
    if (!engine().may_open_now(db) || fsync_lock_.busy()) return;
    const sched::BlockingSection away;
    const storage::GlobalLock lock(locks(), storage::GlobalMode::W);
    if (!engine().may_open_now(db) || !engine().open_again(db)) return;
    // An index that is built again is not lost because an operation's time limit has passed.
    const sched::Operation::Scope of_no_operation(nullptr);
    try {
        finish_opening(*catalog_.database(db));
    } catch (const base::Error& error) {
        base::log::error("database {}: {}", db, error.what());
    }
}

void Service::expire_cursors() {
    const size_t count =
        cursors_.expire(std::chrono::milliseconds(options::cursor_timeout_ms.get()));
    if (count > 0) base::log::info("killed {} idle cursors", count);
}

}  // namespace command
