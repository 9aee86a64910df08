// command/request/retryable_write.h - requests with a number of their session, `txnNumber` beside
// `lsid`, on a member of a replica set: writes that their client sends again when it does not know
// what became of them, and requests of a transaction (command/context/transactions.h), which have
// `autocommit: false`, too, and the first one `startTransaction: true`. The log of writes has the
// statements that are done (oplog/retries.h).
#pragma once

#include <memory>

#include "base/error.h"
#include "command/request/invocation.h"
#include "oplog/retries.h"

namespace command {

// Throws base::Error 20: on a server in no set there are no transactions and no numbers. The text
// is one that drivers look for.
[[noreturn]] void refuse_numbers();
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

// transaction_request.cpp has what follows.
//
// Takes `startTransaction` or `autocommit`. Throws base::Error 14, 20, 72.
void take_transaction_field(const bson::Element& e, Invocation& invocation);
// Takes the readConcern level of a request of a transaction. Throws base::Error 72.
void check_transaction_level(const Invocation& invocation, std::string_view level);
// Throws base::Error 20, 72, 125 or 263 for what cannot be a request of a transaction, or has to be
// one; 10107 where this member is not the primary. REQUIRES: all fields are read.
void check_transaction(const Invocation& invocation, const Command& command);
// Runs the command in the transaction that it is of, which any error ends, and one of an item of a
// write. REQUIRES: check_transaction(), and the turn of the session.
void run_in_transaction(Invocation& invocation, const Command& command);
// An item of a write has failed: whether the rest is not to be done since the write is of a
// transaction, which it ends. Throws the error where the client is to hear of it as of the whole.
bool ends_transaction(Client& client, const base::Error& error);

// errorLabels, for a request that fails with that code.
void append_error_labels(const Invocation& invocation, int code, bson::Builder& out);

}  // namespace command
