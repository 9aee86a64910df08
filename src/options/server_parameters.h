// options/server_parameters.h - what only setParameter sets: on the command line with
// --setParameter, or while the server runs with the command (wire spec 6.1, 2.2).
#pragma once

#include "base/memory.h"
#include "options/option.h"

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
            "client ends it, or 30 minutes after its last use.",
    .parameter = Parameter::at_start,
});

inline Integer operation_memory_bytes({
    .name = "operationMemoryBytes",
    .group = Group::parameters,
    .default_value = base::memory::kOperationBytes,
    .range = Range{16 << 20, int64_t{1} << 40},
    .help =
        "Memory that one operation may hold, in bytes, at least {low}. One that needs more ends "
        "with an error.",
    .parameter = Parameter::always,
});

inline Integer all_operations_memory_bytes({
    .name = "allOperationsMemoryBytes",
    .group = Group::parameters,
    .default_value = base::memory::kAllBytes,
    .range = Range{64 << 20, int64_t{1} << 40},
    .help = "Memory that all operations and what waits for them may hold together, in bytes, at "
            "least {low}. Beyond it, operations that need more than a megabyte end with an error.",
    .parameter = Parameter::always,
});

}  // namespace options
