// hello and its older spellings, and what clients ask about themselves (wire spec 2.1, 2.2).
#include <algorithm>
#include <chrono>

#include "auth/scram.h"
#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "command/context/locks.h"
#include "command/report/member_report.h"
#include "command/report/reports.h"
#include "command/request/cluster_time.h"
#include "command/request/invocation.h"
#include "command/request/member_state.h"
#include "dialect/requests.h"
#include "options/memory_limit.h"

namespace command {

namespace {

constexpr int kFirstWithSessions = 6;  // wire versions
// However long a hello is to wait.
constexpr std::chrono::hours kAwaitMax{24};
constexpr int kHalfARequest = 31368;
constexpr int kBadAwaitTime = 31373;
constexpr int kCounterOfTheFuture = 31382;
constexpr int kMissingField = 40414;

bson::Element version_field(bson::Doc version, std::string_view name, bson::Type type) {
    const bson::Element e = version[name];
    if (e.missing())
        base::fail(kMissingField, "BSON field 'TopologyVersion.{}' is missing but a required field",
                   name);
    if (e.type() != type)
        base::fail(base::kTypeMismatch, "BSON field 'TopologyVersion.{}' is the wrong type", name);
    return e;
}

// Whether the client knows all there is to say, `now`, and will wait for news. The old messages
// have no such fields of hello.
bool asks_to_wait(Invocation& invocation, const TopologyVersion& now,
                  std::chrono::milliseconds* how_long) {
    if (!invocation.dialect().has(dialect::kHelloWaits) ||
        !tells_topology_version(invocation.service.context()))
        return false;
    const bson::Element known = invocation.field("topologyVersion");
    const bson::Element await = invocation.field("maxAwaitTimeMS");
    if (known.missing() != await.missing())
        base::fail(kHalfARequest, "A request with '{}' must include '{}'",
                   known ? "topologyVersion" : "maxAwaitTimeMS",
                   known ? "maxAwaitTimeMS" : "topologyVersion");
    if (known.missing()) return false;
    if (!known.is_object() || !await.is_number())
        base::fail(base::kTypeMismatch,
                   "'topologyVersion' must be a document, and "
                   "'maxAwaitTimeMS' a number");
    if (await.to_int64() < 0)
        base::fail(kBadAwaitTime, "maxAwaitTimeMS must be a non-negative integer");
    using bson::Type;
    const bson::Doc version = known.as_doc();
    const bson::ObjectId process =
        version_field(version, "processId", Type::object_id).as_object_id();
    const int64_t counter = version_field(version, "counter", Type::int64).as_int64();
    invocation.is_stream = await.to_int64() > 0;
    if (process != now.process) return false;
    if (counter > now.counter)
        base::fail(kCounterOfTheFuture,
                   "Received a topology version with counter: {} which is greater than the server "
                   "topology version counter: {}",
                   counter, now.counter);
    *how_long =
        std::min<std::chrono::milliseconds>(std::chrono::milliseconds(await.to_int64()), kAwaitMax);
    return counter == now.counter;
}

// Whether the request goes on waiting. If so, it holds no thread, and is served again.
bool waits_for_news(Invocation& invocation, const TopologyVersion& now) {
    std::chrono::milliseconds how_long{};
    if (!asks_to_wait(invocation, now, &how_long)) return false;
    DCHECK(how_long.count() >= 0 && how_long <= kAwaitMax);
    const bool waits = awaits_news(invocation, now.counter, how_long);
    if (invocation.client.data_wait().is_retry())
        invocation.client.report().idle_millis =
            base::ms_since(invocation.client.operation().started());
    return waits;
}

// Appends the answer to saslSupportedMechs: "db.user". The answer about users that do not exist is
// that for new ones.
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
    if (should_defer(invocation.client, "admin", false)) return invocation.wait_for_turn();
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

// Keeps the field `client` for currentOp.
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

// Larger ones are taken, too, but where memory is small one of them is much of it.
int32_t message_bytes() {
    constexpr int64_t kAroundDocumentBytes = 64 * 1024;
    const int64_t bytes = options::memory_limits().incomplete_messages_bytes + kAroundDocumentBytes;
    return static_cast<int32_t>(std::min<int64_t>(bytes, wire::kMessageBytesMax));
}

void greet(Invocation& invocation, const char* primary_field) {
    const ServerContext& context = invocation.service.context();
    const TopologyVersion version_now = topology_version(context);  // before what it tells of
    if (waits_for_news(invocation, version_now)) return;
    keep_metadata(invocation);
    bson::Builder& reply = *invocation.reply;
    if (context.member != nullptr)
        append_role(*context.member, primary_field, reply);
    else
        reply.append(primary_field, true);
    append_topology_version(context, version_now, reply);
    if (invocation.body["helloOk"].truthy()) {
        reply.append("helloOk", true);
        // A driver of today greets by the old message, and some tell no other time on a connection
        // that has told them none.
        if (!invocation.dialect().has(dialect::kMembersTellTime))
            append_cluster_time(context, reply);
    }
    reply.append("maxBsonObjectSize", bson::kDocumentBytesMax)
        .append("maxMessageSizeBytes", message_bytes())
        .append("maxWriteBatchSize", context.max_write_batch)
        .append_date("localTime", base::ms_since_1970());
    // A client of an older dialect sends no lsid, whatever the reply offers. Drivers take the offer
    // of a member of a set for one of retryable writes, too.
    if (context.max_wire_version >= kFirstWithSessions)
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
