// command/request/cluster_time.h - the time of a set, by which a client reads at one member what it
// has seen at another: operationTime and $clusterTime of replies, afterClusterTime of requests and
// what else a readConcern asks for.
//
// It is the `ts` of the last entry of this member's log. What clients pass on of other members
// moves nothing here; it only says how late a time may be that a read waits for.
#pragma once

#include <cstdint>

#include "bson/builder.h"
#include "command/request/server_context.h"

namespace command {

struct Invocation;

// Appends both to a reply by OP_MSG; nothing, where this server has no log of a set.
void append_cluster_time(const ServerContext& context, bson::Builder& reply);

// Returns the time in the value of $clusterTime. Throws base::Error 14.
uint64_t told_cluster_time(const bson::Element& e);
// Takes the field readConcern: the level of the reads, and afterClusterTime. Throws base::Error 2,
// 14, 72, 123, and what check_transaction_level() and read_fields() throw.
void take_read_concern(const bson::Element& e, Invocation& invocation);

// No lock. Whether the request waits, without a thread, for a time that the log has not reached: it
// is served again then. Throws base::Error 72 for a time that no member has told, 93, 94, and what
// ends the operation.
bool awaits_cluster_time(Invocation& invocation);

}  // namespace command
