// command/request/service.h - the commands' side of the server: everything that connections share.
//
// server/ makes one Service over the catalog and hands it to wire/ as the Handler of all
// connections. It is destroyed after the last connection.
//
// The room request: from a message to the reply: decoding, authorization, finding a command and
// running it. Parts below get what they need of the Service; none knows the Service itself.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "catalog/catalog.h"
#include "command/access/access_control.h"
#include "command/context/logical_sessions.h"
#include "command/context/operation_contexts.h"
#include "command/context/transactions.h"
#include "command/cursor/cursors.h"
#include "command/cursor/session_ends.h"
#include "command/observe/counters.h"
#include "command/observe/profiler.h"
#include "command/request/database_opener.h"
#include "command/request/registry.h"
#include "command/request/server_context.h"
#include "storage/fsync_lock.h"
#include "wire/handler.h"

namespace command {

class Service final : public wire::Handler {
  public:
    // `families`: the commands that it knows.
    Service(catalog::Catalog& catalog, ServerContext& context, std::span<const Family> families);

    // A connection; session.cpp has it.
    std::unique_ptr<wire::Session> open(const wire::ConnectionInfo& info,
                                        wire::Waker& waker) override;

    catalog::Catalog& catalog() { return catalog_; }
    storage::Engine& engine() { return catalog_.engine(); }
    storage::LockManager& locks() { return contexts_.locks(); }
    storage::Durability& durability() { return contexts_.durability(); }
    ServerContext& context() { return context_; }
    const Registry& commands() const { return commands_; }
    CursorManager& cursors() { return cursors_; }
    LogicalSessions& sessions() { return sessions_; }
    Transactions& transactions() { return transactions_; }
    SessionEnds& session_ends() { return session_ends_; }
    AccessControl& access_control() { return access_control_; }
    OperationContexts& contexts() { return contexts_; }
    OpCounters& counters() { return counters_; }
    Asserts& asserts() { return asserts_; }
    Metrics& metrics() { return metrics_; }
    Top& top() { return top_; }
    Profiler& profiler() { return profiler_; }

    // fsync with lock: true, and its end.
    storage::FsyncLock& fsync_lock() { return fsync_lock_; }
    DatabaseOpener& opener() { return opener_; }

    // Ends idle cursors; called by server/ every few seconds.
    void expire_cursors();

  private:
    void transaction_ended(const Transactions::Ended& ended);

    catalog::Catalog& catalog_;
    ServerContext& context_;
    const Registry commands_;
    AccessControl access_control_;
    OpCounters counters_;
    Asserts asserts_;
    Metrics metrics_;
    OperationContexts contexts_;
    CursorManager cursors_;
    LogicalSessions sessions_;
    Transactions transactions_;
    SessionEnds session_ends_;
    Top top_;
    storage::FsyncLock fsync_lock_;
    DatabaseOpener opener_;
    Profiler profiler_;
};

}  // namespace command
