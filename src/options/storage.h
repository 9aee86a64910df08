// options/storage.h - the data files (wire spec 6.1, mmapv1 spec 1).
#pragma once

#include "options/option.h"

namespace options {

inline Text dbpath({
    .name = "dbpath",
    .yaml = {"storage.dbPath"},
    .group = Group::storage,
    .value_name = "DIR",
    .default_value = "/data/db",
    .help = "Where the data files live. It must exist. Default {default}.",
});

inline Flag directory_per_db({
    .name = "directoryperdb",
    .yaml = {"storage.directoryPerDB"},
    .group = Group::storage,
    .engine = "mmapv1",
    .help = "Give each database a directory of its own. Must stay as it was when the files were "
            "made. Default {default}.",
});

inline Flag small_files({
    .name = "smallfiles",
    .yaml = {"storage.smallFiles", "storage.mmapv1.smallFiles"},
    .group = Group::storage,
    .engine = "mmapv1",
    .help = "Make data files a quarter of the usual size, journal files 128 MB instead of 1 GB. "
            "Saves space on small disks; large databases then have many files. Default {default}.",
});

inline Integer ns_size({
    .name = "nssize",
    .yaml = {"storage.nsSize", "storage.mmapv1.nsSize"},
    .group = Group::storage,
    .value_name = "MB",
    .unit = "MB",
    .default_value = 16,
    .range = Range{1, 2047},
    .range_error = "bad --nssize arg",
    .engine = "mmapv1",
    .help = "Size of new .ns files, {low} to {high}; 16 MB hold about 24000 collections and "
            "indexes. Default {default}.",
});

inline Flag no_prealloc({
    .name = "noprealloc",
    .yaml = {"storage.preallocDataFiles", "storage.mmapv1.preallocDataFiles"},
    .yaml_opposite = true,
    .group = Group::storage,
    .engine = "mmapv1",
    .help = "Do not make the next data file ahead of need. It is not made ahead by default either.",
});

inline Number sync_delay({
    .name = "syncdelay",
    .yaml = {"storage.syncPeriodSecs"},
    .group = Group::storage,
    .value_name = "SECONDS",
    .unit = "s",
    .default_value = 60.0,
    .range = Range{0, 100000},
    .range_error = "syncdelay out of allowed range ({low}-{high})",
    .help = "Time between background flushes of all data files, up to {high}; 0 never flushes. "
            "With the journal it only bounds journal size and recovery time; without, it is how "
            "much can be lost. Default {default}.",
    .loss = "with the journal nothing; without it, all work of this time",
    .parameter = Parameter::always,
});

inline Flag repair({
    .name = "repair",
    .group = Group::storage,
    .help = "Write all collections anew, without documents that cannot be read, and build their "
            "indexes again, then exit. Works in the data files themselves and without the journal, "
            "so copy them first.",
    .loss = "documents that cannot be read are left out",
});

inline Text salvage({
    .name = "salvage",
    .group = Group::storage,
    .value_name = "DIR",
    .default_value = "",
    .default_text = "none",
    .engine = "mmapv1",
    .help = "Write what can be read of a damaged dbpath to a new directory, as mongorestore reads "
            "it, print file and offset of what cannot, then exit. Changes nothing in the dbpath "
            "and does not replay its journal. Runs in the foreground, without a log.",
});

inline Text replay_oplog({
    .name = "replayOplog",
    .group = Group::storage,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "Bring a backup of a set's member to a later time, then exit: apply the entries in "
            "FILE, local.oplog.rs as mongodump writes it, and drop the database local.",
});

inline Text replay_to({
    .name = "replayTo",
    .group = Group::storage,
    .value_name = "TIME",
    .default_value = "",
    .default_text = "the end of the file",
    .help = "Time of the last entry to apply: seconds:increment, or a date by the clock of the "
            "primary, UTC without a zone.",
});

inline Text repair_path({
    .name = "repairpath",
    .yaml = {"storage.repairPath"},
    .group = Group::storage,
    .value_name = "DIR",
    .default_value = "",
    .engine = "mmapv1",
    .help = "Repairs work in the data files themselves.",
    .hidden = true,
    .ignored = "repairs work in the data files themselves",
});

inline Flag upgrade({
    .name = "upgrade",
    .group = Group::storage,
    .help = "Bring data files of older servers up to date, then exit.",
});

inline Flag no_index_build_retry({
    .name = "noIndexBuildRetry",
    .yaml = {"storage.indexBuildRetry"},
    .yaml_opposite = true,
    .group = Group::storage,
    .help = "Remove index builds that a stop of the server interrupted instead of building them "
            "again at the start.",
});

inline Text storage_engine({
    .name = "storageEngine",
    .yaml = {"storage.engine"},
    .group = Group::storage,
    .value_name = "NAME",
    .default_value = "mmapv1",
    .choices = {"mmapv1", "rocksdb", "wiredTiger"},
    .choice_error = "--storageEngine {value} is not available, only {choices}",
    .help = "What keeps the data: {choices}. The last two compress, and each needs a file beside "
            "the program: engine_rocksdb.so, engine_wiredtiger.so. A data directory stays with "
            "the engine that made it. Default {default}.",
});

}  // namespace options
