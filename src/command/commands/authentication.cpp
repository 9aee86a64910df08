// Logging in and out, and connectionStatus (wire spec 6.4).
#include "base/error.h"
#include "command/commands/families.h"
#include "command/context/locks.h"
#include "command/request/authorization.h"
#include "command/request/invocation.h"
#include "dialect/requests.h"

namespace command {

namespace {

// Users are read under the lock on admin, which whole requests should not wait for.
bool should_defer(Invocation& invocation) {
    const bool defers = command::should_defer(invocation.client, "admin", false);
    if (defers) invocation.wait_for_turn();
    return defers;
}

void run_sasl_start(Invocation& invocation) {
    if (should_defer(invocation)) return;
    invocation.client.login().start(invocation.db, invocation.body, *invocation.reply);
}

void run_sasl_continue(Invocation& invocation) {
    if (should_defer(invocation)) return;
    Login& login = invocation.client.login();
    if (login.must_delay_attempt()) {
        invocation.suspension = Suspension::until_turn(login.attempt_at());
        return invocation.client.operation().check_interrupt();
    }
    invocation.client.login().go_on(invocation.db, invocation.body, *invocation.reply);
}

void run_logout(Invocation& invocation) {
    invocation.client.login().log_out(invocation.db);
}

void run_get_nonce(Invocation& invocation) {
    const bson::ObjectId random = bson::new_object_id();
    uint64_t nonce = 0;
    std::memcpy(&nonce, random.bytes + 4, sizeof nonce);
    invocation.reply->append("nonce", fmt::format("{:016x}", nonce));
}

// { connectionStatus: 1, showPrivileges: bool }
void run_connection_status(Invocation& invocation) {
    Login& login = invocation.client.login();
    login.refresh();
    bson::Builder info = invocation.reply->sub_object("authInfo");
    {
        bson::Builder users = info.sub_array("authenticatedUsers");
        for (const auth::User& user : login.users())
            users.push(bson::make("user", user.who.name, "db", user.who.db));
    }
    if (!invocation.dialect().has(dialect::kRepliesTellMore) && !login.logged_in()) return;
    {
        bson::Builder roles = info.sub_array("authenticatedUserRoles");
        for (const auth::User& user : login.users())
            auth::append_roles(user.granted.roles, roles);
    }
    if (!invocation.body["showPrivileges"].truthy()) return;
    bson::Builder privileges = info.sub_array("authenticatedUserPrivileges");
    login.privileges().append_to(privileges);
}

constexpr Field kStartFields[] = {
    {"mechanism", types::string},
    {"payload", types::of(bson::Type::binary) | types::string},
    {"options", types::object},
    without_effect("autoAuthorize", types::flag),
};
constexpr Field kContinueFields[] = {
    {"conversationId"},
    {"payload", types::of(bson::Type::binary) | types::string},
};
constexpr Field kStatusFields[] = {
    {"showPrivileges", types::flag},
};

constexpr Command kCommands[] = {
    {"saslStart", "", kHidesBody | kKeepsLastError | kNoSession, LockKind::none,
     "{ saslStart: 1, mechanism, payload }: begin to log in", run_sasl_start, needs::nothing,
     kStartFields},
    {"saslContinue", "", kHidesBody | kKeepsLastError | kNoSession, LockKind::none,
     "{ saslContinue: 1, conversationId, payload }: go on with it", run_sasl_continue,
     needs::nothing, kContinueFields},
    {"logout", "", kNoSession, LockKind::none, "forget who is authenticated", run_logout,
     needs::nothing},
    {"getnonce", "", kNoSession, LockKind::none, "a random number for authentication",
     run_get_nonce, needs::nothing},
    {"connectionStatus", "", 0, LockKind::none, "who is authenticated on this connection",
     run_connection_status, needs::nothing, kStatusFields},
};

}  // namespace

Family authentication_commands() {
    return kCommands;
}

}  // namespace command
