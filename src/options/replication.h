// options/replication.h - the log of writes that others follow (wire spec 6.1).
#pragma once

#include "options/option.h"

namespace options {

inline Flag master({
    .name = "master",
    .group = Group::replication,
    .help =
        "Keep a log of all writes in local.oplog.$main, for programs that follow a server by it, "
        "as slaves of old servers do. Each entry is in the commit of its write; writers of "
        "different databases wait for each other then. Default {default}.",
});

inline Text replica_set({
    .name = "replSet",
    .yaml = {"replication.replSetName", "replication.replSet"},
    .group = Group::replication,
    .value_name = "NAME",
    .default_value = "",
    .help =
        "Be a member of the replica set of that name: alone, for drivers and programs that ask for "
        "a set or follow one by local.oplog.rs, or with secondaries that have the same data. "
        "Before its first write the set is initiated once, by rs.initiate(). Not together with "
        "--master.",
});

inline Integer oplog_size_mb({
    .name = "oplogSize",
    .yaml = {"replication.oplogSizeMB"},
    .group = Group::replication,
    .value_name = "MB",
    .unit = "MB",
    .default_value = 0,
    .range = Range{0, 1'000'000},
    .help =
        "Size of the log of writes when it is made; the oldest entries go when it is full. 0 is "
        "5% of the free disk, from 990 to 51200 MB. Default {default}.",
});

inline Flag write_periodic_noops({
    .name = "writePeriodicNoops",
    .group = Group::parameters,
    .default_value = true,
    .help = "An idle primary of a set logs notes.",
    .parameter = Parameter::at_start,
});

inline Integer periodic_noop_seconds({
    .name = "periodicNoopIntervalSecs",
    .group = Group::parameters,
    .unit = "s",
    .default_value = 10,
    .range = Range{1, 3600},
    .help = "The time between two notes.",
    .parameter = Parameter::at_start,
});

}  // namespace options
