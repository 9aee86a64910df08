// command/context/operation_context.h - a client of the server that runs one operation at a time: a
// connection, or the server itself. currentOp lists them, killOp ends what they do.
//
// The room context: what an operation has while it runs: its connection, the record of its request,
// its locks on a collection, what it may wait for, the logical session it belongs to.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "command/context/current_request.h"
#include "command/context/operation_contexts.h"
#include "command/context/transactions.h"
#include "sched/operation.h"
#include "wire/handler.h"

namespace command {

// The context of one operation, among those of its server from its construction to its end. Its
// members belong to the thread that works, except the references; those that currentOp and killOp
// touch are safe for them.
class OperationContext {
  public:
    // A connection; its description is "conn7".
    OperationContext(OperationContexts& contexts, const wire::ConnectionInfo& connection,
                     wire::Waker& waker);
    // Work of the server itself, e.g. "TTLMonitor".
    OperationContext(OperationContexts& contexts, std::string description);
    OperationContext(const OperationContext&) = delete;
    OperationContext& operator=(const OperationContext&) = delete;

    catalog::Catalog& catalog() const { return contexts_.catalog(); }
    const storage::NameLimits& name_limits() const { return catalog().engine().name_limits(); }
    storage::LockManager& locks() const { return contexts_.locks(); }
    storage::Durability& durability() const { return contexts_.durability(); }
    Metrics& metrics() const { return contexts_.metrics(); }
    // The desc of currentOp, also the prefix of log lines.
    const std::string& description() const { return description_; }
    // Null for work of the server itself.
    const wire::ConnectionInfo* connection() const { return connection_ ? &*connection_ : nullptr; }
    sched::Operation& operation() { return operation_; }
    CurrentRequest& current() { return current_; }
    // Ends an operation of that id, also where it only waits. Any thread.
    void kill(uint32_t id);
    OpReport& report() { return current_.report(); }
    // The transaction over several requests that the request under way uses; null: none.
    Transactions::Use* transaction() const { return transaction_; }
    void set_transaction(Transactions::Use* transaction) { transaction_ = transaction; }
    // Whether the request can be served again from its beginning, since nothing is done yet.
    bool may_defer() const { return may_defer_; }
    void set_may_defer(bool may_defer) { may_defer_ = may_defer; }
    // The description that the client's program gives of itself (`client` of its first hello),
    // which never changes; empty: it gave none. Any thread may call these two.
    bson::Object metadata() const;
    void set_metadata(bson::Doc metadata);
    // Returns the users who have logged in (Login::ids()).
    virtual std::vector<std::string> owners() const { return {}; }

  protected:
    virtual ~OperationContext();

  private:
    OperationContexts& contexts_;
    const std::optional<wire::ConnectionInfo> connection_;
    wire::Waker* const waker_;  // null for work of the server itself
    const std::string description_;
    sched::Operation operation_;
    CurrentRequest current_;
    Transactions::Use* transaction_ = nullptr;
    bool may_defer_ = false;
    mutable std::mutex metadata_mutex_;
    bson::Object metadata_;  // guarded by it
};

// Work that no client asked for, done by the thread that constructs this.
class BackgroundOperation final : public OperationContext {
  public:
    BackgroundOperation(OperationContexts& contexts, std::string description);
    // The next part of the work begins, with an opid of its own.
    void next(const char* op, std::string_view ns, bson::Object request);

  private:
    bson::Object request_;  // what currentOp shows
    const sched::Operation::Scope scope_;
};

}  // namespace command
