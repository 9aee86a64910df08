#include "command/request/database_opener.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "oplog/log.h"
#include "replica/member.h"
#include "sched/operation.h"
#include "storage/lock.h"

namespace command {

void DatabaseOpener::finish_opening(catalog::Database& database) {
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W);
    if (!database.writable()) return;
    database.complete_definitions();
    // The primary drops temporary collections, and a member that follows it drops them with it. An
    // index that is built again has its entry in the primary's log.
    if (context_.member != nullptr && context_.member->role().follows()) {
        const oplog::ForeignChange copy(context_.member->log());
        return database.recover_interrupted_builds(context_.retry_index_builds);
    }
    database.drop_temporary();
    database.recover_interrupted_builds(context_.retry_index_builds);
}

void DatabaseOpener::open_again(std::string_view db) {
    storage::Engine& engine = catalog_.engine();
    // While fsync has everything locked, a waiter for W would block readers.
    if (!engine.may_open_now(db) || fsync_lock_.busy()) return;
    const storage::GlobalLock lock(engine.locks(), storage::GlobalMode::W);
    if (!engine.may_open_now(db) || !engine.open_again(db)) return;
    // An index that is built again is not lost because an operation's time limit has passed.
    const sched::Operation::Scope no_operation(nullptr);
    try {
        finish_opening(*catalog_.database(db));
    } catch (const base::Error& error) {
        base::log::error("database {}: {}", db, error.what());
    }
}

}  // namespace command
