#include "command/request/cluster_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/type_names.h"
#include "command/context/locks.h"
#include "command/request/fields.h"
#include "command/request/invocation.h"
#include "command/request/retryable_write.h"
#include "replica/member.h"

namespace command {

namespace {

// A time that is later than now by more than a year is of a broken clock.
constexpr int64_t kDriftSecondsMax = 365 * 24 * 3600;

// A member may change its state while a read waits for its log.
constexpr std::chrono::seconds kLooksAgain{1};

bson::Object time_fields(uint64_t ts) {
    constexpr std::array<uint8_t, 20> kNoHash{};
    bson::Builder out;
    {
        bson::Builder time = out.sub_object("$clusterTime");
        time.append_timestamp("clusterTime", ts);
        bson::Builder signature = time.sub_object("signature");
        signature.append_binary("hash", 0, kNoHash).append("keyId", int64_t{0});
    }
    return out.append_timestamp("operationTime", ts).object();
}

// The fields with a time of zeros, and where that lies in them.
struct Template {
    bson::Object fields = time_fields(0);
    size_t cluster_time;
    size_t operation_time;

    Template() {
        const auto offset = [this](const bson::Element& e) {
            return static_cast<size_t>(e.value() - fields.doc().data()) - sizeof(int32_t);
        };
        cluster_time = offset(fields["$clusterTime"].as_doc()["clusterTime"]);
        operation_time = offset(fields["operationTime"]);
    }
};

std::string text_of(uint64_t ts) {
    return fmt::format("{{ ts: Timestamp({}, {}) }}", ts >> 32, ts & 0xffffffff);
}

constexpr Field kReadConcernFields[] = {
    {"level", types::string},
    {"afterClusterTime"},
    {"atClusterTime"},
    {"afterOpTime"},
    without_effect("provenance", types::string, "4.4"),
};

void take_after_cluster_time(bson::Doc read_concern, Invocation& invocation) {
    const bson::Element after = read_concern["afterClusterTime"];
    if (after.missing()) return;
    if (after.type() != bson::Type::timestamp)
        base::fail(base::kTypeMismatch,
                   "\"afterClusterTime\" had the wrong type. Expected timestamp, found {}",
                   bson::name_of(after.type()));
    if (invocation.service.context().member == nullptr)
        base::fail(base::kInvalidOptions,
                   "readConcern 'afterClusterTime' is not supported: this server has no cluster "
                   "time, and reads see what was written before");
    if (after.as_timestamp() == 0)
        base::fail(base::kInvalidOptions, "afterClusterTime cannot be a null timestamp");
    const bson::Element level = read_concern["level"];
    if (level.is_string() && level.as_string() != "local" && level.as_string() != "majority" &&
        level.as_string() != "snapshot")
        base::fail(
            base::kInvalidOptions,
            "afterClusterTime field can be set only if level is equal to majority, local, or "
            "snapshot");
    invocation.after_time = after.as_timestamp();
}

// Returns what the level of a read on a member of a set promises.
ReadLevel level_of_set(std::string_view level) {
    if (level == "snapshot")
        base::fail(base::kInvalidOptions,
                   "readConcern level 'snapshot' is not supported on a replica set yet");
    if (level == "majority") return ReadLevel::majority;
    return level == "linearizable" ? ReadLevel::linearizable : ReadLevel::local;
}

}  // namespace

void append_cluster_time(const ServerContext& context, bson::Builder& reply) {
    if (context.member == nullptr) return;
    const uint64_t ts = context.member->last().ts;
    if (ts == 0) return;
    static const Template kTemplate;
    const size_t start = reply.buffer().size();
    reply.append_all(kTemplate.fields.doc());
    reply.buffer().store<uint64_t>(start + kTemplate.cluster_time, ts);
    reply.buffer().store<uint64_t>(start + kTemplate.operation_time, ts);
}

uint64_t told_cluster_time(const bson::Element& e) {
    const bson::Element time = e.is_object() ? e.as_doc()["clusterTime"] : bson::Element();
    if (time.type() != bson::Type::timestamp)
        base::fail(base::kTypeMismatch, "$clusterTime must be a document with a timestamp");
    return time.as_timestamp();
}

void take_read_concern(const bson::Element& e, Invocation& invocation) {
    if (!e.is_object()) base::fail(base::kTypeMismatch, "readConcern must be a document");
    read_fields(e.as_doc(), "readConcern", kReadConcernFields, invocation.dialect());
    for (const std::string_view time : {"atClusterTime", "afterOpTime"}) {
        if (e.as_doc().has(time))
            base::fail(base::kInvalidOptions,
                       "readConcern '{}' is not supported: reads see what was written before",
                       time);
    }
    take_after_cluster_time(e.as_doc(), invocation);
    const bson::Element level = e.as_doc()["level"];
    if (level.missing() || level.type() == bson::Type::null) return;
    if (!level.is_string()) base::fail(base::kTypeMismatch, "readConcern level must be a string");
    const std::string_view name = level.as_string();
    const bool is_of_set = invocation.service.context().member != nullptr;
    if (is_of_set && !invocation.body["autocommit"].missing())
        return check_transaction_level(invocation, name);
    if (is_of_set && invocation.name == "aggregate" && invocation.is_of_stream()) {
        if (name == "majority") return;
        base::fail(base::kInvalidOptions,
                   "a $changeStream cannot be read with readConcern level '{}': it shows what a "
                   "majority has",
                   name);
    }
    if (is_of_set) invocation.read_level = level_of_set(name);
    // A read by the first must not have been overtaken elsewhere; one by the second is of an older
    // moment.
    if (!is_of_set && (name == "linearizable" || name == "snapshot"))
        base::fail(base::kNotAReplicaSet,
                   "readConcern level '{}' is for members of a replica set, which this server is "
                   "not",
                   name);
    if (invocation.read_level == ReadLevel::local && name != "local" && name != "available" &&
        name != "majority")
        base::fail(base::kBadValue, "readConcern level '{}' does not exist", name);
}

bool awaits_cluster_time(Invocation& invocation) {
    const replica::Member* const member = invocation.service.context().member;
    DCHECK(member != nullptr && invocation.after_time != 0);
    const uint64_t after = invocation.after_time;
    // A read that comes after the entry of a change waits for the lock of that change.
    if (member->last().ts >= after) return false;
    member->needed_config();
    const int64_t now_seconds = base::ms_since_1970() / 1000;
    const bool is_plausible =
        static_cast<int64_t>(invocation.told_time >> 32) <= now_seconds + kDriftSecondsMax;
    const uint64_t current =
        std::max(member->last().ts, is_plausible ? invocation.told_time : uint64_t{0});
    if (after > current)
        base::fail(base::kInvalidOptions,
                   "readConcern afterClusterTime value must not be greater than the current "
                   "clusterTime. Requested clusterTime: {}; current clusterTime: {}",
                   text_of(after), text_of(current));
    sched::Operation& operation = invocation.client.operation();
    operation.check_interrupt();
    const CollectionLock lock(invocation.client, oplog::kSetLog, false);
    if (member->last().ts >= after) return false;
    if (lock.collection() == nullptr)
        base::fail(base::kNotYetInitialized, "this member has no log of writes yet");
    invocation.client.data_wait().wake_on_insert(*lock.collection());
    invocation.suspension = Suspension::until_data(
        std::min(Suspension::Clock::now() + kLooksAgain,
                 operation.deadline().value_or(Suspension::Clock::time_point::max())));
    return true;
}

}  // namespace command
