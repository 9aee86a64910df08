// currentOp and killOp (wire spec 2.4).
#include "command/request/current_op.h"

#include "command/report/reports.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "dialect/requests.h"

namespace command {

namespace {

void run_current_op(Invocation& invocation) {
    for (const char* name : {"$all", "$ownOps"}) {
        const bson::Element e = invocation.field(name);
        if (invocation.dialect().has(dialect::kFieldsAreChecked) && e &&
            e.type() != bson::Type::boolean && !e.is_number())
            base::fail(base::kTypeMismatch, "{} must be a boolean", name);
    }
    append_operations(invocation.service.contexts(), invocation.service.fsync_lock(), nullptr,
                      invocation.body, dialect::kToday, *invocation.reply);
}

void run_kill_op(Invocation& invocation) {
    const bool of_today = invocation.dialect().has(dialect::kFieldsAreChecked);
    bson::Element op;
    for (const bson::Element& e : invocation.body)
        if (op.missing() && (e.name() == "op" || (of_today && e.name() == "id"))) op = e;
    if (op.missing() && of_today)
        base::fail(40414, "BSON field 'killOp.op' is missing but a required field");
    kill_operation(invocation.service.contexts(), op, *invocation.reply);
}

constexpr Field kKillFields[] = {
    {"op", types::number}, {"id", types::number},  // as programs name it that show operations
};

constexpr Command kCommands[] = {
    {"currentOp", "", kAdminOnly | kAnyField, LockKind::none,
     "{ currentOp: 1, $all: bool }: what is running", run_current_op,
     needs::on_cluster(auth::action::inprog)},
    {"killOp", "", kAdminOnly, LockKind::none, "{ killOp: 1, op: opid }", run_kill_op,
     needs::on_cluster(auth::action::killop), kKillFields},
};

}  // namespace

Family current_op_commands() {
    return kCommands;
}

}  // namespace command
