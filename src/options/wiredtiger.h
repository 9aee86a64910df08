// options/wiredtiger.h - the storage engine wiredTiger.
#pragma once

#include "options/option.h"

namespace options {

inline Number wired_tiger_cache_size_gb({
    .name = "wiredTigerCacheSizeGB",
    .yaml = {"storage.wiredTiger.engineConfig.cacheSizeGB"},
    .group = Group::storage,
    .value_name = "GB",
    .unit = "GB",
    .default_value = 0.0,
    .default_text =
        "half of the memory of the machine or control group above 1 GB, at least 0.25 or an eighth",
    .range = Range{0, 10000},
    .engine = "wiredTiger",
    .help = "Memory for pages of data files, with the changes that are not in them yet, up to "
            "{high}; fractions are possible, less than 0.25 counts as 0.25, and 0 stands for the "
            "default. Default {default}.",
});

inline Text wired_tiger_config_string({
    .name = "wiredTigerEngineConfigString",
    .yaml = {"storage.wiredTiger.engineConfig.configString"},
    .group = Group::storage,
    .value_name = "WORDS",
    .default_value = "",
    .engine = "wiredTiger",
    .help =
        "More settings for the library, in its own words: name=value,name=value. They come "
        "over those that the server makes, and the start is refused for any that does not merely "
        "trade speed and memory; docs/engines.md lists what is taken.",
});

}  // namespace options
