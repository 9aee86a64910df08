// hello and its older spellings, and what clients ask about themselves (wire spec 2.1, 2.2).
#include "auth/scram.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/families.h"
#include "command/context/locks.h"
#include "command/request/invocation.h"

namespace command {

namespace {

constexpr int kFirstWithSessions = 6;  // wire version

// saslSupportedMechs: "db.user". About users that do not exist the answer is that for new ones.
void append_mechanisms(Invocation& invocation, std::string_view asked) {
    const size_t dot = asked.find('.');
    if (dot == std::string_view::npos)
        base::fail(base::kBadValue, "UserName must contain a '.' separated database.user pair");
    const auto user = invocation.service.access_control().users.find(
        {std::string(asked.substr(dot + 1)), std::string(asked.substr(0, dot))});
    bson::Builder list = invocation.reply->sub_array("saslSupportedMechs");
    for (const auth::Mechanism mechanism : auth::kMechanisms) {
        if (!user || user->credential(mechanism)) list.push(auth::name_of(mechanism));
    }
}

void append_login(Invocation& invocation) {
    const bson::Element asked = invocation.body["saslSupportedMechs"];
    const bson::Element early = invocation.body["speculativeAuthenticate"];
    if (!asked.is_string() && !early.is_object()) return;
    invocation.retry_later = should_defer(invocation.client, "admin", false);
    if (invocation.retry_later) return;
    if (asked.is_string()) append_mechanisms(invocation, asked.as_string());
    if (early.is_object()) invocation.client.login().start_early(early.as_doc(), *invocation.reply);
}

void greet(Invocation& invocation, const char* primary_field) {
    const ServerContext& context = invocation.service.context();
    bson::Builder& reply = *invocation.reply;
    reply.append(primary_field, true);
    if (invocation.body["helloOk"].truthy()) reply.append("helloOk", true);
    reply.append("maxBsonObjectSize", bson::kDocumentBytesMax)
        .append("maxMessageSizeBytes", wire::kMessageBytesMax)
        .append("maxWriteBatchSize", context.max_write_batch)
        .append_date("localTime", base::ms_since_1970());
    // A client of an older dialect sends no lsid, whatever the reply offers.
    if (context.max_wire_version >= kFirstWithSessions)
        reply
            .append("logicalSessionTimeoutMinutes",
                    static_cast<int32_t>(LogicalSessions::kTimeout.count()))
            .append("connectionId", static_cast<int32_t>(invocation.client.info().number));
    reply.append("maxWireVersion", context.max_wire_version).append("minWireVersion", 0);
    if (context.max_wire_version >= kFirstWithSessions) reply.append("readOnly", false);
    append_login(invocation);
}

void run_is_master(Invocation& invocation) {
    greet(invocation, "ismaster");
}

void run_hello(Invocation& invocation) {
    greet(invocation, "isWritablePrimary");
}

void run_nothing(Invocation&) {}

void run_whats_my_uri(Invocation& invocation) {
    invocation.reply->append("you", invocation.client.info().remote);
}

constexpr Command kCommands[] = {
    {"isMaster", "ismaster", kNoSession | kAnyField, LockKind::none,
     "check whether this server takes writes", run_is_master, needs::nothing},
    {"hello", "", kNoSession | kAnyField, LockKind::none, "check whether this server takes writes",
     run_hello, needs::nothing},
    {"ping", "", 0, LockKind::none,
     "a way to check that the server is alive. responds immediately even if server is in a db "
     "lock.",
     run_nothing, needs::nothing},
    {"whatsmyuri", "", 0, LockKind::none, "{ whatsmyuri: 1 }: the address you come from",
     run_whats_my_uri, needs::nothing},
    {"handshake", "", kAnyField, LockKind::none, "internal", run_nothing, needs::nothing},
};

}  // namespace

Family handshake_commands() {
    return kCommands;
}

}  // namespace command
