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
    .help = "Be a member of the replica set of that name, alone or with others. rs.initiate() "
            "begins it, once. Not together with --master.",
});

inline Text coordinator({
    .name = "coordinator",
    .yaml = {"replication.coordinator"},
    .group = Group::replication,
    .value_name = "URL[,URL...]",
    .default_value = "",
    .default_text = "none",
    .help = "The etcds by which the members of the set elect their primary; the same at each "
            "member. Without it the configuration names the primary.",
});

inline Text coordinator_user({
    .name = "coordinatorUser",
    .yaml = {"replication.coordinatorUser"},
    .group = Group::replication,
    .value_name = "NAME",
    .default_value = "",
    .default_text = "none",
    .help = "The user of etcd.",
});

inline Text coordinator_password_file({
    .name = "coordinatorPasswordFile",
    .yaml = {"replication.coordinatorPasswordFile"},
    .group = Group::replication,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "The file with its password, which others may not read.",
});

inline Text coordinator_ca_file({
    .name = "coordinatorCAFile",
    .yaml = {"replication.coordinatorCAFile"},
    .group = Group::replication,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "the system's",
    .help = "PEM file with the authorities that sign the certificates of etcds.",
});

inline Text coordinator_certificate_key_file({
    .name = "coordinatorCertificateKeyFile",
    .yaml = {"replication.coordinatorCertificateKeyFile"},
    .group = Group::replication,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "PEM file with the certificate and key that etcds are shown.",
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
