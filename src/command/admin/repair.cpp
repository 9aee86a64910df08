#include "command/admin/repair.h"

#include "base/error.h"
#include "base/log.h"
#include "command/cursor/cursors.h"
#include "sched/interruption.h"
#include "storage/lock.h"

namespace command {

void repair_database(catalog::Catalog& catalog, CursorManager& cursors, std::string_view name) {
    const storage::GlobalLock lock(catalog.engine().locks(), storage::GlobalMode::W);
    catalog::Database* db = catalog.database(name);
    if (db == nullptr) return;
    base::log::info("repairDatabase {}", name);
    cursors.kill_database(name);
    db->repair();
    int64_t failed = 0;
    for (const std::string& ns : db->collection_names()) {
        if (catalog::is_catalogue(catalog::split(ns).collection)) continue;
        try {
            db->repair(ns);
        } catch (const base::Error& error) {
            if (sched::is_interruption(error)) throw;
            ++failed;
            base::log::error("repair of {} failed, left unchanged: {}", ns, error.what());
        }
    }
    if (failed > 0)
        base::fail(base::kInternalError,
                   "{} collections of {} could not be repaired and were left as they are; the log "
                   "says why",
                   failed, name);
}

}  // namespace command
