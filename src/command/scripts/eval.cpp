// eval: a script on the server, with an object db.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/scripts.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/scripts/inner_command.h"
#include "command/scripts/scripts.h"
#include "storage/lock.h"

namespace command {

namespace {

constexpr int kNoCode = 10046;

// The lock of an eval: no other client reads or writes while its script runs. Commands that take
// the whole server's lock themselves run without it, and others may come before and after them.
class EvalLock {
  public:
    explicit EvalLock(storage::LockManager& manager) : manager_(manager) { take(); }
    void take() { lock_.emplace(manager_, storage::GlobalMode::W); }
    void give_up() { lock_.reset(); }

  private:
    storage::LockManager& manager_;
    std::optional<storage::GlobalLock> lock_;
};

// Whether a command takes no more than the lock of a database, which that of eval covers.
bool runs_under_lock(std::string_view name) {
    constexpr std::string_view kNames[] = {
        "find",         "getMore",      "count",         "distinct",      "insert",
        "update",       "delete",       "findAndModify", "findandmodify", "aggregate",
        "getLastError", "getlasterror", "group",         "collStats",     "collstats",
        "isMaster",     "ping",         "listIndexes",   "buildInfo",     "killCursors"};
    return std::ranges::find(kNames, name) != std::end(kNames);
}

class EvalDatabase final : public script::Database {
  public:
    // `lock`: null without one.
    EvalDatabase(Invocation& invocation, EvalLock* lock) : invocation_(invocation), lock_(lock) {}

    std::string run(std::string_view database, const uint8_t* command) override {
        const bson::Doc body(command);
        const bool gives_up = lock_ != nullptr && !runs_under_lock(body.first().name());
        if (gives_up) lock_->give_up();
        const bson::Object reply = run_inner_command(invocation_, database, body);
        if (gives_up) lock_->take();
        return {reinterpret_cast<const char*>(reply.doc().data()),
                static_cast<size_t>(reply.size())};
    }

  private:
    Invocation& invocation_;
    EvalLock* const lock_;
};

struct EvalRequest {
    bson::Element args, nolock;
};

// A value of another type than one would think means something to the old server, too.
constexpr Reader<bson::Element> kAny{types::any, as_it_came};
constexpr Row<EvalRequest> kRows[] = {
    row<kAny, &EvalRequest::args>("args"),
    row<kAny, &EvalRequest::nolock>("nolock"),
};
constexpr RequestTable kEval(kRows);

void run_eval(Invocation& invocation) {
    script::refuse_unless_allowed("eval");
    const bson::Element code = invocation.first();
    if (!is_code(code)) base::fail(kNoCode, "eval takes a string or code");
    if (storage::LockManager::mode() != storage::GlobalMode::none)
        base::fail(base::kIllegalOperation, "a script under the lock of eval begins no other one");
    EvalRequest request;
    kEval.bind(invocation.given, invocation.dialect(), request);
    const auto script = open_scripts(invocation.client, invocation.db);
    std::unique_ptr<EvalLock> lock;
    if (!request.nolock.truthy()) lock = std::make_unique<EvalLock>(invocation.client.locks());
    EvalDatabase database(invocation, lock.get());
    script->open_database(&database, invocation.db);
    if (code.type() == bson::Type::code_with_scope) script->define(code.code_scope().data());
    const int function = script->compile(text_of_code(code));
    const std::string result = script->call(
        function, request.args.is_array() ? request.args.as_doc().data() : bson::Doc().data(),
        script::Context::Result::eval);
    invocation.reply->append_as("retval", bson::Doc(result.data()).first());
}

// It may do whatever commands can, also those that are yet to come.
bool may_eval(const Invocation&, const Rights& rights) {
    return rights.on_cluster(auth::kAnyAction) && rights.anywhere(auth::kAnyAction);
}

constexpr Command kCommands[] = {
    {"eval", "$eval", kRecordsFailure, LockKind::write,
     "{ eval: code, args: [ ... ], nolock: bool }: runs JavaScript on the server", run_eval,
     needs::decided(may_eval), kEval.fields()},
};

}  // namespace

Family eval_commands() {
    return kCommands;
}

}  // namespace command
