#include "command/request/retryable_write.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "dialect/requests.h"
#include "replica/member.h"

namespace command {

namespace {

constexpr int kNotRetryable = 50768;

// The codes of the specification of drivers: where the label does not come from the server, they
// retry by these.
constexpr int kRetryableCodes[] = {
    6,     // HostUnreachable
    7,     // HostNotFound
    89,    // NetworkTimeout
    91,    // ShutdownInProgress
    262,   // ExceededTimeLimit
    9001,  // SocketException
    base::kNotWritablePrimary,
    base::kInterruptedAtShutdown,
    base::kInterruptedDueToReplStateChange,
    base::kPrimarySteppedDown,
    base::kNotPrimaryNoSecondaryOk,
    base::kNotPrimaryOrSecondary,
};

}  // namespace

void refuse_numbers() {
    base::fail(base::kIllegalOperation,
               "Transaction numbers are only allowed on a replica set member or mongos");
}

int64_t checked_txn_number(const bson::Element& e, const Invocation& invocation) {
    if (invocation.service.context().member == nullptr) refuse_numbers();
    if (!invocation.dialect().has(dialect::kWritesAreRetried))
        base::fail(base::kIllegalOperation,
                   "txnNumber is not supported by the old messages: what it says of a write is "
                   "known to clients of OP_MSG");
    if (e.type() != bson::Type::int64) base::fail(base::kTypeMismatch, "txnNumber must be a long");
    if (e.as_int64() < 0)
        base::fail(base::kInvalidOptions, "Transaction number cannot be negative");
    return e.as_int64();
}

void check_retryable(const Invocation& invocation, const Command& command) {
    DCHECK(invocation.txn_number.has_value());
    if ((command.flags & kRetryable) == 0)
        base::fail(kNotRetryable,
                   "txnNumber may only be provided for multi-document transactions and retryable "
                   "write commands. autocommit:false was not provided, and {} is not a retryable "
                   "write command.",
                   command.name);
    if (!invocation.session)
        base::fail(base::kInvalidOptions,
                   "Transaction number requires a session ID to also be specified");
}

std::unique_ptr<oplog::Retries::Turn> take_turn(const Invocation& invocation) {
    DCHECK(invocation.session.has_value() && invocation.txn_number.has_value());
    DCHECK(invocation.service.context().member != nullptr);
    oplog::Retries& retries = invocation.service.context().member->retries();
    auto turn = retries.begin({invocation.session->uuid, invocation.session->owner},
                              *invocation.txn_number);
    if (turn == nullptr) sched::Operation::check();
    return turn;
}

bool is_worth_a_retry(int code) {
    return std::ranges::find(kRetryableCodes, code) != std::end(kRetryableCodes);
}

void append_retry_label(bool is_numbered, int code, bson::Builder& out) {
    if (!is_numbered || !is_worth_a_retry(code)) return;
    out.sub_array("errorLabels").push("RetryableWriteError");
}

void append_stream_label(int code, bson::Builder& out) {
    if (code != base::kCursorNotFound && !is_worth_a_retry(code)) return;
    out.sub_array("errorLabels").push("ResumableChangeStreamError");
}

}  // namespace command
