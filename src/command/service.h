// command/service.h - the commands' side of the server: everything that connections share.
//
// server/ makes one Service over the catalog and hands it to wire/ as the Handler of all
// connections. It is destroyed after the last connection.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "catalog/catalog.h"
#include "command/counters.h"
#include "command/cursors.h"
#include "command/profiler.h"
#include "command/server_context.h"
#include "wire/handler.h"

namespace command {

class BackgroundOperation;
class ClientSession;

class Service final : public wire::Handler {
  public:
    Service(catalog::Catalog& catalog, ServerContext& context);
    ~Service() override;

    std::unique_ptr<wire::Session> open(const wire::ConnectionInfo& info,
                                        wire::Waker& waker) override;

    catalog::Catalog& catalog() { return catalog_; }
    storage::Engine& engine() { return catalog_.engine(); }
    storage::LockManager& locks() { return engine().locks(); }
    storage::Durability& durability() { return engine().durability(); }
    ServerContext& context() { return context_; }
    CursorManager& cursors() { return cursors_; }
    OpCounters& counters() { return counters_; }
    Asserts& asserts() { return asserts_; }
    Metrics& metrics() { return metrics_; }
    Top& top() { return top_; }
    Profiler& profiler() { return profiler_; }

    // Parameter notablescan: queries without a usable index fail.
    bool no_table_scan() const { return no_table_scan_.load(std::memory_order_relaxed); }
    void set_no_table_scan(bool on) { no_table_scan_.store(on, std::memory_order_relaxed); }

    // fsync with lock: true between the command and fsyncUnlock.
    bool fsync_locked() const { return fsync_locked_.load(); }
    // Locks all writers out after a flush; throws base::Error if locked already. Returns when
    // locked.
    void fsync_lock();
    // Returns false if it was not locked.
    bool fsync_unlock();

    // Rewrites every collection of a database with what can be read of it, and builds its indexes
    // again. Takes global W. Throws base::Error for a database that cannot be opened, and when
    // collections had to be left as they are.
    void repair_database(std::string_view name);

    // What this program is: the fields of buildInfo.
    void append_build_info(bson::Builder& out);
    // Adds a document about this start to local.startup_log. Takes the lock of local.
    void log_startup();

    // Removes documents whose TTL index says so. Called by server/ once a minute. Returns how many.
    int64_t delete_expired();
    // Ends idle cursors; called by server/ every few seconds.
    void expire_cursors();

    // Visits all open sessions; none of them can go away meanwhile.
    template <typename Visit>
    void each_session(Visit&& visit) {
        const std::lock_guard guard(sessions_mutex_);
        for (ClientSession* session : sessions_)
            visit(*session);
    }

    // The same for the server's own work.
    template <typename Visit>
    void each_background(Visit&& visit) {
        const std::lock_guard guard(sessions_mutex_);
        for (BackgroundOperation* work : background_)
            visit(*work);
    }

  private:
    friend class BackgroundOperation;
    friend class ClientSession;
    struct FsyncLock;

    catalog::Catalog& catalog_;
    ServerContext& context_;
    CursorManager cursors_;
    OpCounters counters_;
    Asserts asserts_;
    Metrics metrics_;
    Top top_;
    Profiler profiler_;
    std::atomic<bool> no_table_scan_{false};
    std::atomic<bool> fsync_locked_{false};
    std::unique_ptr<FsyncLock> fsync_lock_;
    std::mutex sessions_mutex_;
    std::set<ClientSession*> sessions_;          // guarded by sessions_mutex_
    std::set<BackgroundOperation*> background_;  // guarded by sessions_mutex_
};

}  // namespace command
