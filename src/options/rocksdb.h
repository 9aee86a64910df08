// options/rocksdb.h - the storage engine rocksdb.
#pragma once

#include "options/option.h"

namespace options {

inline Number rocksdb_cache_size_gb({
    .name = "rocksdbCacheSizeGB",
    .yaml = {"storage.rocksdb.cacheSizeGB"},
    .group = Group::storage,
    .value_name = "GB",
    .unit = "GB",
    .default_value = 0.0,
    .default_text = "a quarter of the memory of the machine or control group, an eighth of less "
                    "than 1 GB",
    .range = Range{0, 10000},
    .engine = "rocksdb",
    .help = "Memory for blocks of data files that have been read, up to {high}; fractions are "
            "possible, 0 stands for the default. Changes that are not in data files yet come on "
            "top: a sixteenth of the memory, 128 MB at the most. Default {default}.",
});

inline Text rocksdb_config_string({
    .name = "rocksdbConfigString",
    .yaml = {"storage.rocksdb.configString"},
    .group = Group::storage,
    .value_name = "WORDS",
    .default_value = "",
    .engine = "rocksdb",
    .help = "More settings for the library, in its own words: name=value;name=value. They come "
            "over those that the server makes, and the start is refused for any that does not "
            "merely trade speed, memory and space; docs/engines.md lists what is taken.",
});

}  // namespace options
