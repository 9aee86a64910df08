// command/session_ends.h - how logical sessions end, with the cursors opened in them and what runs
// in them. When each was used last is kept by logical_sessions.h.
#pragma once

#include <set>

#include "command/logical_sessions.h"

namespace command {

class OperationContext;
class Service;

// Ends sessions and the cursors that belong to them.
void end_sessions(Service& service, const SessionSet& doomed);
// The same, and kills what runs in them but for `except`, the caller.
void kill_sessions(Service& service, const SessionSet& doomed, const OperationContext& except);
// Those that have cursors or run something.
std::set<SessionId> busy_sessions(Service& service);
// Ends those that have not been used for too long; called by server/ once a minute.
void expire_sessions(Service& service, LogicalSessions::Clock::time_point now);

}  // namespace command
