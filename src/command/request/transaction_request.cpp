#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "command/request/member_state.h"
#include "command/request/retryable_write.h"
#include "dialect/requests.h"
#include "replica/member.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr int kNumberIsUsed = 50911;
constexpr int kLockTimeout = 24;

bool ends(const Command& command) {
    return (command.flags & kEndsTransaction) != 0;
}

// Whether a client that begins the transaction again may find that it can be done.
bool is_transient(int code) {
    return code == base::kWriteConflict || code == base::kSnapshotUnavailable ||
           code == base::kNoSuchTransaction || code == kLockTimeout;
}

[[noreturn]] void fail_in_transaction(const Invocation& invocation, const char* why) {
    base::fail(base::kOperationNotSupportedInTransaction,
               "Cannot run '{}' in a multi-document transaction{}", invocation.name, why);
}

// The context of the request knows the transaction while the command runs.
class InUse {
  public:
    InUse(Client& client, Transactions::Use& use) : client_(client) {
        DCHECK(client.transaction() == nullptr);
        client.set_transaction(&use);
    }
    ~InUse() { client_.set_transaction(nullptr); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

  private:
    Client& client_;
};

// Throws base::Error where the log has the number: of a transaction that this server does not know
// any more, or of a write by itself.
void check_history(const Invocation& invocation, const oplog::Retries::Turn& turn) {
    if (turn.all_done().empty()) return;
    if (invocation.starts_transaction)
        base::fail(kNumberIsUsed, "the txnNumber {} has been used in this session already",
                   *invocation.txn_number);
    const oplog::Done* const done = turn.done(0);
    if (done != nullptr && done->op == 'c')
        base::fail(base::kTransactionCommitted, "Transaction {} has been committed.",
                   *invocation.txn_number);
}

}  // namespace

void take_transaction_field(const bson::Element& e, Invocation& invocation) {
    if (invocation.service.context().member == nullptr) refuse_numbers();
    if (!invocation.dialect().has(dialect::kWritesAreRetried))
        base::fail(base::kIllegalOperation,
                   "transactions are not supported by the old messages: only by OP_MSG");
    const bool starts = e.name() == "startTransaction";
    if (e.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch, "{} must be a boolean", e.name());
    if (e.as_bool() != starts)
        base::fail(base::kInvalidOptions, "Specifying {}={} is not allowed.", e.name(),
                   e.as_bool());
    (starts ? invocation.starts_transaction : invocation.in_transaction) = true;
}

void check_transaction_level(const Invocation& invocation, std::string_view level) {
    if (!invocation.body["startTransaction"].truthy())
        base::fail(base::kInvalidOptions,
                   "Only the first command in a transaction may specify a readConcern");
    if (level != "local" && level != "majority" && level != "snapshot")
        base::fail(base::kInvalidOptions,
                   "The readConcern level must be either 'local', 'majority' or 'snapshot' in a "
                   "transaction, not '{}'",
                   level);
}

void check_transaction(const Invocation& invocation, const Command& command) {
    if (!invocation.in_transaction) {
        if (invocation.starts_transaction)
            base::fail(base::kInvalidOptions, "startTransaction needs autocommit: false beside it");
        if (!ends(command)) return;
        if (invocation.service.context().member == nullptr) refuse_numbers();
        base::fail(base::kCommandFailed, "{} must be run within a transaction", command.name);
    }
    DCHECK(invocation.service.context().member != nullptr);
    if (!invocation.txn_number)
        base::fail(base::kInvalidOptions,
                   "'autocommit' field requires a transaction number to also be specified");
    if (!invocation.session)
        base::fail(base::kInvalidOptions,
                   "Transaction number requires a session ID to also be specified");
    if ((command.flags & (kInTransaction | kEndsTransaction)) == 0)
        fail_in_transaction(invocation, "");
    const bool begins_with_nothing =
        ends(command) || command.name == "getMore" || command.name == "killCursors";
    if (invocation.starts_transaction && begins_with_nothing)
        fail_in_transaction(invocation, " as its first command");
    if (!ends(command) && !invocation.body["writeConcern"].missing())
        base::fail(base::kInvalidOptions,
                   "writeConcern is not allowed within a multi-document transaction: it belongs to "
                   "commitTransaction");
    check_takes_writes(invocation.service.context(), invocation.db, invocation.dialect());
}

void run_in_transaction(Invocation& invocation, const Command& command) {
    DCHECK(invocation.in_transaction && invocation.turn != nullptr);
    if (ends(command)) return command.run(invocation);
    // Its changes are statements of the transaction, none of which comes again by itself.
    check_history(invocation, *std::exchange(invocation.turn, nullptr));
    Transactions& all = invocation.service.transactions();
    const SessionId& session = *invocation.session;
    const int64_t number = *invocation.txn_number;
    auto use = invocation.starts_transaction
                   ? all.begin(session, number, invocation.client.info().remote)
                   : all.go_on(session, number);
    {
        const InUse in_use(invocation.client, *use);
        command.run(invocation);
    }
    invocation.skip_concern = true;
    if (use->is_doomed()) return;
    if (!invocation.suspension.has_reply() && invocation.starts_transaction)
        use->forget();
    else
        use->park();
}

bool ends_transaction(Client& client, const base::Error& error) {
    if (client.transaction() == nullptr) return false;
    if (is_transient(error.code()) || sched::is_interruption(error)) throw base::Error(error);
    client.transaction()->doom();
    return true;
}

void append_error_labels(const Invocation& invocation, int code, bson::Builder& out) {
    const bool ends_one =
        invocation.name == "commitTransaction" || invocation.name == "abortTransaction";
    if (!invocation.in_transaction || ends_one)
        append_retry_label(invocation.txn_number.has_value(), code, out);
    const bool begins_again = is_transient(code) || (is_worth_a_retry(code) && !ends_one);
    if (invocation.in_transaction && begins_again)
        out.sub_array("errorLabels").push("TransientTransactionError");
}

}  // namespace command
