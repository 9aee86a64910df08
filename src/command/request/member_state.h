// command/request/member_state.h - what a member of a replica set does not do in its present state:
// only the primary takes writes; a secondary takes the reads of clients that are content with one;
// all others take neither. The database `local` is each member's own.
#pragma once

#include <string_view>

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

// Whether $readPreference names a mode that a secondary can serve.
bool allows_secondary(bson::Doc request);

}  // namespace command
