#include "command/request/entry_commands.h"

#include <thread>

#include "base/dcheck.h"
#include "base/error.h"
#include "command/context/client.h"
#include "command/context/locks.h"
#include "command/request/run_command.h"

namespace command {

namespace {

// The thread waits itself.
class NoWaker final : public wire::Waker {
  public:
    void wake() override {}
};

}  // namespace

void run_entry_command(Service& service, std::string_view db, bson::Doc command) {
    NoWaker waker;
    wire::ConnectionInfo info;
    info.remote = "the primary's log";
    Client client(service.contexts(), service.access_control(), info, waker);
    bson::Buffer reply;
    for (;;) {
        reply.clear();
        client.operation().start();
        const sched::Operation::Scope scope(&client.operation());
        Invocation invocation{service, client, db, {}, command};
        invocation.of_log = true;
        run_command(invocation, reply);
        client.operation().finish();
        if (invocation.suspension.what() != Suspension::For::turn) break;
        // Too many wait for this lock.
        std::this_thread::sleep_for(kRetryAfter);
        sched::Operation::check();
    }
    DCHECK(reply.size() >= 5);
    const bson::Doc answer(reply.data());
    if (answer["ok"].to_double() == 1) return;
    throw base::Error(answer["code"].to_int32(), std::string(answer["errmsg"].as_string()));
}

}  // namespace command
