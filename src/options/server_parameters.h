// options/server_parameters.h - what only setParameter sets: on the command line with
// --setParameter, or while the server runs with the command (wire spec 6.1, 2.2).
#pragma once

#include "options/option.h"
#include "sched/memory.h"
#include "sched/work_limit.h"

namespace options {

inline Integer enable_test_commands({
    .name = "enableTestCommands",
    .group = Group::parameters,
    .default_value = 0,
    .help = "Enables commands that only tests should use.",
    .parameter = Parameter::at_start,
});

inline Integer announced_max_wire_version({
    .name = "announcedMaxWireVersion",
    .group = Group::parameters,
    .default_value = 9,
    .range = Range{2, 29},
    .help = "maxWireVersion told to clients, {low} to {high}: lower for old dialects, higher for "
            "drivers that refuse {default}.",
    .parameter = Parameter::at_start,
});

// The release whose behaviour this server follows (buildInfo.version).
constexpr const char* kReportedVersion = "2.6.12";

// Throws base::Error unless it is three numbers with dots.
void check_version(const Value& value);

inline Text reported_version({
    .name = "reportedVersion",
    .group = Group::parameters,
    .default_value = kReportedVersion,
    .check = check_version,
    .help = "The version told to clients, three numbers with dots.",
    .parameter = Parameter::at_start,
});

inline Flag fail_index_key_too_long({
    .name = "failIndexKeyTooLong",
    .group = Group::parameters,
    .default_value = true,
    .help = "Refuse documents whose index keys are too long. Off: such documents are missing from "
            "the index.",
    .parameter = Parameter::always,
});

inline Flag power_of_2_by_default({
    .name = "newCollectionsUsePowerOf2Sizes",
    .group = Group::parameters,
    .default_value = true,
    .help = "Round record sizes of new collections up to powers of two.",
    .parameter = Parameter::always,
});

inline Flag ttl_monitor_enabled({
    .name = "ttlMonitorEnabled",
    .group = Group::parameters,
    .default_value = true,
    .help = "Remove documents whose TTL index says so, once a minute.",
    .parameter = Parameter::always,
});

inline Flag remote_administration({
    .name = "remoteAdministration",
    .group = Group::parameters,
    .help = "Commands that change the server itself (shutdown, setParameter, logRotate, fsync with "
            "lock, repairDatabase, closeAllDatabases, profile) may come from other machines. "
            "Otherwise they need a connection over loopback or the Unix socket.",
    .parameter = Parameter::at_start,
});

inline Flag follow_journal_link({
    .name = "followJournalLink",
    .group = Group::parameters,
    .help = "The folder journal/ in the dbpath may be a symbolic link. No other link in the dbpath "
            "is followed.",
    .parameter = Parameter::at_start,
});

inline Integer max_sessions({
    .name = "maxSessions",
    .group = Group::parameters,
    .default_value = 1'000'000,
    .range = Range{1, 100'000'000},
    .help = "Logical sessions at a time, {low} to {high}; each takes some 100 bytes until its "
            "client ends it, or 30 minutes after its last use. Where there are more, some unused "
            "ones end.",
    .parameter = Parameter::at_start,
});

inline Integer operation_memory_bytes({
    .name = "operationMemoryBytes",
    .group = Group::parameters,
    .default_value = sched::memory::kOperationBytes,
    .range = Range{16 << 20, int64_t{1} << 40},
    .help =
        "Memory that one operation may hold, in bytes, at least {low}. One that needs more ends "
        "with an error.",
    .parameter = Parameter::always,
});

inline Integer all_operations_memory_bytes({
    .name = "allOperationsMemoryBytes",
    .group = Group::parameters,
    .default_value = sched::memory::kAllBytes,
    .range = Range{64 << 20, int64_t{1} << 40},
    .help = "Memory that all operations and what waits for them may hold together, in bytes, at "
            "least {low}. Beyond it, operations that need more than a megabyte end with an error.",
    .parameter = Parameter::always,
});

inline Integer all_operations_disk_bytes({
    .name = "allOperationsDiskBytes",
    .group = Group::parameters,
    .default_value = int64_t{16} << 30,
    .range = Range{0, int64_t{1} << 50},
    .help = "Bytes that sorts and groups with allowDiskUse may have in temporary files, all "
            "together, in _tmp of the dbpath. Beyond it, and where the disk has less than 256 MB "
            "left, such an operation ends with an error. Idle cursors may hold half of it; beyond "
            "that those that hold most end.",
    .parameter = Parameter::always,
});

inline Integer document_work_ticks({
    .name = "documentWorkTicks",
    .group = Group::parameters,
    .default_value = sched::WorkLimit::kDefaultTicks,
    .range = Range{100'000, int64_t{1} << 50},
    .help = "Work that one document may be, in ticks of about 100 ns, at least {low}: to match it, "
            "to find what it is sorted by, to project, insert or update it with its index keys; "
            "and to plan one query. Others wait for its lock that long. What needs more ends with "
            "error 90001 and changes nothing.",
    .parameter = Parameter::always,
});

inline Integer incomplete_message_bytes({
    .name = "incompleteMessageBytes",
    .group = Group::parameters,
    .default_value = 256 << 20,
    .range = Range{1 << 20, int64_t{1} << 40},
    .help =
        "Memory that messages which are still arriving may hold, all connections together, in "
        "bytes, at least {low}. Beyond it large messages take turns, the oldest one first; what "
        "they wait for their turn is not counted. If for 5 s none of them gets on, or one takes "
        "longer than 5 s and a second for each 512 KB of it, the oldest ones end with their "
        "connections. Messages up to 64 KB, and TLS handshakes, may hold half of it; beyond that "
        "those end that are not complete after a second.",
    .parameter = Parameter::always,
});

inline Integer incomplete_message_seconds({
    .name = "incompleteMessageSeconds",
    .group = Group::parameters,
    .unit = "s",
    .default_value = 30,
    .range = Range{1, 86'400},
    .help = "A message that has begun to arrive, or a TLS handshake, has to be complete after this "
            "time, a message after one second more for each 64 KB of it; else its connection "
            "ends. Connections that are idle between messages may be so for ever.",
    .parameter = Parameter::always,
});

inline Integer cursor_timeout_ms({
    .name = "cursorTimeoutMillis",
    .group = Group::parameters,
    .unit = "ms",
    .default_value = 600'000,
    .range = Range{1, 2'147'483'647},
    .help = "A cursor that is unused for so long ends within 4 s more, unless it was opened "
            "with noCursorTimeout.",
    .parameter = Parameter::always,
});

inline Integer max_open_cursors({
    .name = "maxOpenCursors",
    .group = Group::parameters,
    .default_value = 10'000,
    .range = Range{1, 100'000'000},
    .help = "Cursors that may be open at a time; a query that would open one more fails. Each "
            "holds a query, and may hold what it has sorted, until it is read to its end, ended "
            "by its client, or has been idle for cursorTimeoutMillis. Beyond half of "
            "allOperationsMemoryBytes, which idle cursors may hold together, those that hold most "
            "end earlier; and before a query fails, the longest idle one whose connection has "
            "ended.",
    .parameter = Parameter::always,
});

inline Integer max_open_cursors_per_connection({
    .name = "maxOpenCursorsPerConnection",
    .group = Group::parameters,
    .default_value = 2'000,
    .range = Range{1, 100'000'000},
    .help = "The same for cursors that one connection has opened.",
    .parameter = Parameter::always,
});

}  // namespace options
