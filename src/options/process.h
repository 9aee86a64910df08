// options/process.h - the process and its surroundings (wire spec 6.1).
#pragma once

#include "options/option.h"

namespace options {

inline Flag fork({
    .name = "fork",
    .yaml = {"processManagement.fork"},
    .group = Group::process,
    .help = "Run in the background. The command returns when the server accepts connections. Needs "
            "--logpath or --syslog.",
});

inline Text pid_file({
    .name = "pidfilepath",
    .yaml = {"processManagement.pidFilePath"},
    .group = Group::process,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "Write the process id to this file.",
});

inline Flag shutdown({
    .name = "shutdown",
    .group = Group::process,
    .help = "Stop the server that runs on this dbpath, wait for it, and exit.",
});

}  // namespace options
