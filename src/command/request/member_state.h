// command/request/member_state.h - what a member of a replica set does not do in its present state:
// only the primary takes writes; a secondary takes the reads of clients that are content with one;
// all others take neither. The database `local` is each member's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "bson/builder.h"
#include "bson/view.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"

namespace command {

// The texts of errors: those of today's servers for OP_MSG, or those for the old messages. Drivers
// look for both.

// Throws base::Error 10107.
void check_takes_writes(const ServerContext& context, std::string_view db,
                        dialect::Dialect dialect);
// Throws base::Error 13435, or 13436 where the client would be content with a secondary, and this
// is none.
void check_takes_reads(const ServerContext& context, std::string_view db, bool secondary_ok,
                       dialect::Dialect dialect);
// Throws the same where the kind of the command needs a state that this member is not in.
void check_member_state(const Invocation& invocation, const Command& command);

// Whether the request waits until there is news of this member, of which `known` were seen, or
// until `most` has passed. If so, it holds no thread, and is served again; then the time of the
// first try counts.
bool awaits_news(Invocation& invocation, int64_t known, std::chrono::milliseconds most);
// Whether it needs a primary, and waits for the next one while this member hands over.
bool awaits_heir(Invocation& invocation, const Command& command);

// Which state of the server a reply tells of: drivers drop what they hear of an earlier one. A
// server outside of a set has no other one while it runs.
struct TopologyVersion {
    bson::ObjectId process;
    int64_t counter = 0;
};

TopologyVersion topology_version(const ServerContext& context);
// Nothing, where the wire version is of a server that has none.
void append_topology_version(const ServerContext& context, const TopologyVersion& version,
                             bson::Builder& reply);
bool tells_topology_version(const ServerContext& context);

// Appends it to an error by which a member says that its state has changed. Not where it is a
// primary that has not heard of a majority: it has told of no other state yet, and drivers would
// take the error for one that they know.
void append_state_of_error(const ServerContext& context, int code, bson::Builder& reply);

// Whether $readPreference names a mode that a secondary can serve.
bool allows_secondary(bson::Doc request);

}  // namespace command
