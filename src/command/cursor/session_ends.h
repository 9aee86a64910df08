// command/cursor/session_ends.h - how logical sessions end, with the cursors opened in them and
// what runs in them. When each was used last is kept by logical_sessions.h.
#pragma once

#include <set>

#include "command/context/logical_sessions.h"

namespace command {

class CursorManager;
class OperationContext;
class OperationContexts;
class Transactions;

class SessionEnds {
  public:
    SessionEnds(LogicalSessions& sessions, CursorManager& cursors, Transactions& transactions,
                OperationContexts& contexts)
        : sessions_(sessions),
          cursors_(cursors),
          transactions_(transactions),
          contexts_(contexts) {}

    // Ends sessions, and the cursors and transactions that belong to them.
    void end(const SessionSet& doomed);
    // The same, and kills what runs in them but for `except`, the caller.
    void kill(const SessionSet& doomed, const OperationContext& except);
    // Returns the sessions that have cursors or transactions, or run something.
    std::set<SessionId> busy();
    // Ends those that have not been used for too long; called by server/ once a minute.
    void expire(LogicalSessions::Clock::time_point now);

  private:
    // Visits the sessions of what runs.
    template <typename Visit>
    void each_running(Visit&& visit);

    LogicalSessions& sessions_;
    CursorManager& cursors_;
    Transactions& transactions_;
    OperationContexts& contexts_;
};

}  // namespace command
