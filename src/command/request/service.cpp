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
      transactions_(catalog.engine(),
                    [this](const Transactions::Ended& ended) { transaction_ended(ended); }),
      session_ends_(sessions_, cursors_, transactions_, contexts_),
      fsync_lock_(catalog.engine()),
      opener_(catalog, fsync_lock_, context),
      profiler_(catalog, fsync_lock_) {
    contexts_.set_transactions(&transactions_);
}

void Service::transaction_ended(const Transactions::Ended& ended) {
    cursors_.kill_transaction(ended.session, ended.number);
    const auto ms = [](Transactions::Clock::duration time) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    };
    if (ms(ended.lasted) < profiler_.slow_ms()) return;
    base::log::info(
        "transaction parameters:{{ lsid: {{ id: {} }}, txnNumber: {}, autocommit: false }} "
        "client:{} terminationCause:{}{}{} changes:{} bytes:{} timeActive:{}ms timeInactive:{}ms "
        "{}ms",
        ended.session.text(), ended.number, ended.who, ended.is_committed ? "committed" : "aborted",
        ended.why.empty() ? "" : " since ", ended.why, ended.changes, ended.bytes, ms(ended.active),
        ms(ended.lasted - ended.active), ms(ended.lasted));
}

void Service::expire_cursors() {
    const size_t count =
        cursors_.expire(std::chrono::milliseconds(options::cursor_timeout_ms.get()));
    if (count > 0) base::log::info("killed {} idle cursors", count);
}

}  // namespace command
