// fsync, fsyncUnlock, journalLatencyTest, shutdown, logRotate, rotateCertificates, profile (wire
// spec 2.4, journal spec 5.4 to 5.6).
#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "command/access/local_rule.h"
#include "command/admin/admin.h"
#include "command/request/invocation.h"
#include "dialect/requests.h"
#include "storage/lock.h"

namespace command {

namespace {

void run_fsync(Invocation& invocation) {
    Service& service = invocation.service;
    const bool async = invocation.body["async"].truthy();
    const bool lock = invocation.body["lock"].truthy();
    base::log::info("CMD fsync: sync:{} lock:{}", async ? 0 : 1, lock ? 1 : 0);
    if (lock) {
        require_local(invocation.client.info(), "fsync with lock");
        if (async) base::fail(base::kBadValue, "fsync: sync option must be true when using lock");
        const int64_t count = service.fsync_lock().lock();
        bson::Builder& reply = *invocation.reply;
        reply.append("info", "now locked against writes, use db.fsyncUnlock() to unlock");
        if (invocation.dialect().has(dialect::kRepliesTellMore)) reply.append("lockCount", count);
        reply.append("seeAlso", "http://dochub.mongodb.org/core/fsynccommand");
        return;
    }
    if (!async) {
        const storage::GlobalLock global(service.locks(), storage::GlobalMode::W);
        service.durability().commit_now();
    }
    invocation.reply->append("numFiles",
                             static_cast<int32_t>(service.durability().flush_all(!async)));
}

void run_fsync_unlock(Invocation& invocation) {
    const std::optional<int64_t> left = invocation.service.fsync_lock().unlock();
    if (!left) base::fail(base::kIllegalOperation, "fsyncUnlock called when not locked");
    DCHECK(*left >= 0);
    invocation.reply->append("info", "fsyncUnlock completed").append("lockCount", *left);
}

void run_journal_latency_test(Invocation& invocation) {
    if (!invocation.service.context().journal_latency_test)
        base::fail(base::kIllegalOperation, "journaling is not enabled on this server");
    invocation.service.context().journal_latency_test(*invocation.reply);
}

void run_shutdown(Invocation& invocation) {
    base::log::info("terminating, shutdown command received");
    invocation.suspension = Suspension::closing();
    if (invocation.service.context().request_shutdown)
        invocation.service.context().request_shutdown();
}

void run_log_rotate(Invocation& invocation) {
    if (invocation.service.context().rotate_log) invocation.service.context().rotate_log();
}

// The message is for the log alone.
void run_rotate_certificates(Invocation& invocation) {
    const bson::Element message = invocation.body["message"];
    if (message.is_string()) base::log::info("CMD rotateCertificates: {}", bson::to_text(message));
    const auto& read = invocation.service.context().read_certificates;
    if (!read || !read())
        base::fail(base::kIllegalOperation,
                   "there are no certificates to read: this server speaks no TLS (--tlsMode)");
}

// A level of -1 only asks, and by old messages what is no number does. slowms is the whole
// server's, the level this database's.
void run_profile(Invocation& invocation) {
    const bson::Element level = invocation.first();
    const bool asks = level.is_number() ? level.to_int32() == -1
                                        : !invocation.dialect().has(dialect::kFieldsAreChecked);
    if (!asks || invocation.body["slowms"])
        require_local(invocation.client.info(), "setting the profiling level");
    if (!asks && !level.is_number())
        base::fail(base::kTypeMismatch, "the profiling level is a number");
    Profiler& profiler = invocation.service.profiler();
    const int was = profiler.level(invocation.db);
    DCHECK(was >= 0 && was <= 2);
    const bson::Object before = bson::make("was", was, "slowms", profiler.slow_ms());
    invocation.client.report().profiled_at = was;  // the command that ends it is the last one seen
    try {
        if (!asks) profiler.set_level(invocation.db, level.to_int32(), invocation.dialect());
    } catch (const base::Error& e) {
        throw base::Error(e.code(), e.what(), before.bytes());
    }
    if (const bson::Element slow = invocation.body["slowms"]; slow.is_number())
        profiler.set_slow_ms(slow.to_int32());
    invocation.reply->append_all(before);
}

constexpr Field kFsyncFields[] = {
    {"async", types::flag},
    {"lock", types::flag},
    refused("fsyncLockAcquisitionTimeoutMillis", "7.1"),
};
// Clients are not waited for, so that it is always by force.
constexpr Field kShutdownFields[] = {
    without_effect("force", types::flag),
    without_effect("timeoutSecs", types::number),
};
constexpr Field kRotateFields[] = {{"message", types::string}};
constexpr Field kProfileFields[] = {
    {"slowms", types::number},
    refused("sampleRate", "3.6"),
    refused("filter", "4.4"),
};

constexpr Command kCommands[] = {
    {"fsync", "", kAdminOnly, LockKind::none, "{ fsync: 1, async: bool, lock: bool }", run_fsync,
     needs::on_cluster(auth::action::fsync), kFsyncFields},
    {"fsyncUnlock", "", kAdminOnly | kLocalOnly, LockKind::none, "ends { fsync: 1, lock: true }",
     run_fsync_unlock, needs::on_cluster(auth::action::unlock)},
    {"journalLatencyTest", "", kAdminOnly | kTestOnly, LockKind::none,
     "measures how long the journal's disk takes", run_journal_latency_test,
     needs::on_cluster(auth::action::fsync)},
    {"shutdown", "", kAdminOnly | kLocalOnly, LockKind::none, "shut the server down", run_shutdown,
     needs::on_cluster(auth::action::shutdown), kShutdownFields},
    {"logRotate", "", kAdminOnly | kLocalOnly, LockKind::none, "start a new log file",
     run_log_rotate, needs::on_cluster(auth::action::logRotate)},
    {"rotateCertificates", "", kAdminOnly | kLocalOnly | kOnAnyMember, LockKind::none,
     "read the files of TLS anew, for connections from now on", run_rotate_certificates,
     needs::on_cluster(auth::action::rotateCertificates), kRotateFields},
    {"profile", "", kOnAnyMember, LockKind::write, "{ profile: -1 | 0 | 1 | 2, slowms }",
     run_profile, needs::on_database(auth::action::enableProfiler), kProfileFields},
};

}  // namespace

Family durability_commands() {
    return kCommands;
}

}  // namespace command
