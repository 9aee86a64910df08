// command/request/retryable_write.h - writes that their client sends again when it does not know
// what became of them: `txnNumber` beside `lsid`, on a member of a replica set. The log of writes
// has the statements of one that are done (oplog/retries.h).
#pragma once

#include <memory>

#include "command/request/invocation.h"
#include "oplog/retries.h"

namespace command {

// Throws base::Error 20: there are no transactions, or else, on a server in no set, no numbers.
[[noreturn]] void refuse_transaction(bool of_transaction);
// The field txnNumber. Throws base::Error 20, 14 or 72 (it is negative).
int64_t checked_txn_number(const bson::Element& e, const Invocation& invocation);
// The request has a number. Throws base::Error 50768 for a command that cannot be sent again, 72
// where no session is named.
void check_retryable(const Invocation& invocation, const Command& command);
// REQUIRES: check_retryable(). Null: another request of the session is under way, and this one is
// to be served again a little later. Throws base::Error 225, and where it has been waiting 11601,
// 11600 or 50.
std::unique_ptr<oplog::Retries::Turn> take_turn(const Invocation& invocation);

// Whether a client that sends the same again may find a server that does it.
bool is_worth_a_retry(int code);
// errorLabels, for a request with a number that fails with that code.
void append_retry_label(bool is_numbered, int code, bson::Builder& out);
// errorLabels, for a request of a change stream: whether the client goes on by a token.
void append_stream_label(int code, bson::Builder& out);

}  // namespace command
