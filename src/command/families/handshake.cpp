// hello and its older spellings, and what clients ask about themselves (wire spec 2.1, 2.2).
#include "base/milliseconds.h"
#include "command/families/families.h"
#include "command/invocation.h"

namespace command {

namespace {

constexpr int kFirstWithSessions = 6;  // wire version

void greet(Invocation& invocation, const char* primary_field) {
    const ServerContext& context = invocation.service.context();
    bson::Builder& reply = *invocation.reply;
    reply.append(primary_field, true);
    if (invocation.body["helloOk"].truthy()) reply.append("helloOk", true);
    reply.append("maxBsonObjectSize", bson::kMaxDocumentBytes)
        .append("maxMessageSizeBytes", wire::kMaxMessageBytes)
        .append("maxWriteBatchSize", context.max_write_batch)
        .append_date("localTime", base::ms_since_1970());
    // Who speaks an older dialect sends no lsid, whatever it is told.
    if (context.max_wire_version >= kFirstWithSessions)
        reply.append("logicalSessionTimeoutMinutes",
                     static_cast<int32_t>(LogicalSessions::kTimeout.count()));
    reply.append("maxWireVersion", context.max_wire_version).append("minWireVersion", 0);
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

void run_connection_status(Invocation& invocation) {
    bson::Builder info = invocation.reply->sub_object("authInfo");
    info.sub_array("authenticatedUsers").finish();
    if (invocation.over_msg()) info.sub_array("authenticatedUserRoles").finish();
}

void run_get_nonce(Invocation& invocation) {
    const bson::ObjectId random = bson::new_object_id();
    uint64_t nonce = 0;
    std::memcpy(&nonce, random.bytes + 4, sizeof nonce);
    invocation.reply->append("nonce", fmt::format("{:016x}", nonce));
}

constexpr Command kCommands[] = {
    {"isMaster", "ismaster", kNoSession, LockKind::none, "check whether this server takes writes",
     run_is_master},
    {"hello", "", kNoSession, LockKind::none, "check whether this server takes writes", run_hello},
    {"ping", "", 0, LockKind::none,
     "a way to check that the server is alive. responds immediately even if server is in a db "
     "lock.",
     run_nothing},
    {"whatsmyuri", "", 0, LockKind::none, "{ whatsmyuri: 1 }: the address you come from",
     run_whats_my_uri},
    {"connectionStatus", "", 0, LockKind::none, "who is authenticated on this connection",
     run_connection_status},
    {"getnonce", "", kNoSession, LockKind::none, "a random number for authentication",
     run_get_nonce},
    {"logout", "", kNoSession, LockKind::none, "forget who is authenticated", run_nothing},
    {"handshake", "", 0, LockKind::none, "internal", run_nothing},
};

}  // namespace

Family handshake_commands() {
    return kCommands;
}

}  // namespace command
