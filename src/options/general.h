// options/general.h - options about the program as a whole, and about operations (wire spec 6.1).
#pragma once

#include "options/option.h"

namespace options {

inline Flag help({
    .name = "help",
    .letter = 'h',
    .group = Group::general,
    .help = "Print this text and exit.",
});

inline Flag version({
    .name = "version",
    .group = Group::general,
    .help = "Print the version and the patches this program was built with, and exit.",
});

inline Text describe({
    .name = "describe",
    .group = Group::general,
    .default_value = "",
    .choices = {"markdown", "man", "bash"},
    .help = "Print all options of this program and exit: as the page docs/options.md is made of, "
            "as a page for man, or as completion for bash.",
    .hidden = true,
});

inline Text config({
    .name = "config",
    .letter = 'f',
    .group = Group::general,
    .value_name = "FILE",
    .default_value = "",
    .help = "Read options from a file: YAML, or the old form of 'name = value' lines. Options on "
            "the command line win.",
});

inline List set_parameter_pairs({
    .name = "setParameter",
    .yaml = {"setParameter"},
    .group = Group::general,
    .value_name = "NAME=VALUE",
    .default_value = std::vector<std::string>(),
    .help = "Set a server parameter; may be repeated. getParameter with '*' lists them.",
});

inline Integer slow_ms({
    .name = "slowms",
    .yaml = {"operationProfiling.slowOpThresholdMs"},
    .group = Group::general,
    .value_name = "MS",
    .unit = "ms",
    .default_value = 100,
    .range = Range{-1, 1'000'000'000},
    .help = "Log operations that take longer than this. Default {default}.",
});

inline Integer profile({
    .name = "profile",
    .yaml = {"operationProfiling.mode"},
    .yaml_words = {{"off", 0}, {"slowOp", 1}, {"all", 2}},
    .group = Group::general,
    .value_name = "LEVEL",
    .default_value = 0,
    .range = Range{0, 2},
    .help = "Keep operations in system.profile of their database: 0 none, 1 those slower than "
            "slowms, 2 all. Default {default}; the profile command sets it for one database.",
});

inline Flag no_table_scan({
    .name = "notablescan",
    .group = Group::general,
    .help = "Refuse queries that no index supports. For tests of applications.",
    .parameter = Parameter::always,
});

}  // namespace options
