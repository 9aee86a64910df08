// options/server_parameters.h - what only setParameter sets: on the command line with
// --setParameter, or while the server runs with the command (wire spec 6.1, 2.2).
#pragma once

#include "options/option.h"
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
    .default_text = "9, or that of announcedVersion where it is higher",
    .range = Range{2, 29},
    .help =
        "maxWireVersion told to clients, {low} to {high}: lower for old dialects, higher for "
        "drivers that refuse 9. One that promises a command which is not here is refused at the "
        "start.",
    .parameter = Parameter::at_start,
});

// The release whose behaviour this server follows (buildInfo.version).
constexpr const char* kDefaultVersion = "2.6.12";

// Returns the wire version that hello is to tell clients; of the releases that announcedVersion
// stands for, only those with a wire version below `limit` count.
int announced_wire_version(int limit);

// Throws base::Error unless it is three numbers with dots.
void check_version(const Value& value);

inline Text announced_version({
    .name = "announcedVersion",
    .group = Group::parameters,
    .default_value = kDefaultVersion,
    .check = check_version,
    .help =
        "The version told to clients, three numbers with dots, as 7.0.14; from 5.0 on with the "
        "maxWireVersion of that release (announcedMaxWireVersion has another one). For programs "
        "that refuse old servers. It changes nothing else: what this server does not have it "
        "refuses by name as before.",
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

inline Integer transaction_lifetime_seconds({
    .name = "transactionLifetimeLimitSeconds",
    .group = Group::parameters,
    .unit = "s",
    .default_value = 60,
    .range = Range{1, 2'147'483'647},
    .help = "A transaction that is open for so long is aborted within a second more. Until then "
            "others wait for what it has changed.",
    .parameter = Parameter::always,
});

}  // namespace options
