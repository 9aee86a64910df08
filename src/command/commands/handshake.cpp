// hello and its older spellings, and what clients ask about themselves (wire spec 2.1, 2.2).
#include "auth/scram.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/commands/families.h"
#include "command/commands/member_report.h"
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

// Throws where a program says less, or more, of itself than today's servers take.
void check_metadata(bson::Doc metadata) {
    constexpr int32_t kBytesMax = 512;
    constexpr size_t kNameBytesMax = 128;
    if (metadata.size() > kBytesMax)
        base::fail(base::kClientMetadataDocumentTooLarge,
                   "The client metadata document must be less then or equal to {} bytes",
                   kBytesMax);
    for (const char* path : {"driver.name", "driver.version", "os.type"})
        if (!metadata.at_path(path).is_string())
            base::fail(base::kClientMetadataMissingField,
                       "Missing required field '{}' in the client metadata document", path);
    const bson::Element application = metadata["application"];
    if (application.missing()) return;
    if (!application.is_object())
        base::fail(base::kTypeMismatch,
                   "The 'application' field must be a BSON document in the client metadata");
    const bson::Element name = application.as_doc()["name"];
    if (name && !name.is_string())
        base::fail(base::kTypeMismatch,
                   "The 'application.name' field must be a string in the client metadata document");
    if (name && name.as_string().size() > kNameBytesMax)
        base::fail(base::kClientMetadataAppNameTooLarge,
                   "The 'application.name' field must be less then or equal to {} bytes in the "
                   "client metadata document",
                   kNameBytesMax);
}

// currentOp shows it.
void keep_metadata(Invocation& invocation) {
    const bson::Element given = invocation.body["client"];
    if (given.missing() || invocation.service.context().max_wire_version < kFirstWithSessions)
        return;
    if (!given.is_object())
        base::fail(base::kTypeMismatch, "The client metadata must be a document");
    check_metadata(given.as_doc());
    if (!invocation.client.metadata().empty())
        base::fail(base::kClientMetadataCannotBeMutated,
                   "The client metadata document may only be sent in the first hello");
    invocation.client.set_metadata(given.as_doc());
}

void greet(Invocation& invocation, const char* primary_field) {
    keep_metadata(invocation);
    const ServerContext& context = invocation.service.context();
    bson::Builder& reply = *invocation.reply;
    if (context.member != nullptr)
        append_role(*context.member, primary_field, reply);
    else
        reply.append(primary_field, true);
    if (invocation.body["helloOk"].truthy()) reply.append("helloOk", true);
    reply.append("maxBsonObjectSize", bson::kDocumentBytesMax)
        .append("maxMessageSizeBytes", wire::kMessageBytesMax)
        .append("maxWriteBatchSize", context.max_write_batch)
        .append_date("localTime", base::ms_since_1970());
    // A client of an older dialect sends no lsid, whatever the reply offers. In a set drivers would
    // take the offer for one of retryable writes.
    if (context.max_wire_version >= kFirstWithSessions && context.member == nullptr)
        reply.append("logicalSessionTimeoutMinutes",
                     static_cast<int32_t>(LogicalSessions::kTimeout.count()));
    if (context.max_wire_version >= kFirstWithSessions)
        reply.append("connectionId", static_cast<int32_t>(invocation.client.info().number));
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
