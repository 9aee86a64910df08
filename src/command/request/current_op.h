// command/request/current_op.h - the list of running operations and the ways to end one.
#pragma once

#include <functional>

#include "bson/builder.h"
#include "command/request/member_state.h"
#include "dialect/dialect.h"
#include "storage/fsync_lock.h"

namespace command {

class OperationContext;
class OperationContexts;

// Appends { inprog: [...] } and, while locked, fsyncLock and info. `query`: $all, and conditions on
// the listed documents. `except` is left out. An operation that came by an old message is shown to
// dialect::kV26 as the old server showed it.
void append_operations(OperationContexts& contexts, const storage::FsyncLock& fsync_lock,
                       const OperationContext* except, bson::Doc query, dialect::Dialect dialect,
                       bson::Builder& out);
// One document for each operation (also for idle connections with `all`).
void each_operation(OperationContexts& contexts, const OperationContext* except, bool all,
                    dialect::Dialect dialect, const std::function<void(bson::Doc)>& visit);
// { info: "attempting to kill op" } or { err: ... }.
void kill_operation(OperationContexts& contexts, const bson::Element& op, bson::Builder& out);

}  // namespace command
