// currentOp and killOp (wire spec 2.4).
#include "command/request/current_op.h"

#include "command/commands/families.h"
#include "command/request/invocation.h"

namespace command {

namespace {

void run_current_op(Invocation& invocation) {
    append_operations(invocation.service.contexts(), invocation.service.fsync_lock(), nullptr,
                      invocation.body, *invocation.reply);
}

void run_kill_op(Invocation& invocation) {
    kill_operation(invocation.service.contexts(), invocation.body["op"], *invocation.reply);
}

constexpr Command kCommands[] = {
    {"currentOp", "", kAdminOnly, LockKind::none, "{ currentOp: 1, $all: bool }: what is running",
     run_current_op, needs::on_cluster(auth::action::inprog)},
    {"killOp", "", kAdminOnly, LockKind::none, "{ killOp: 1, op: opid }", run_kill_op,
     needs::on_cluster(auth::action::killop)},
};

}  // namespace

Family current_op_commands() {
    return kCommands;
}

}  // namespace command
