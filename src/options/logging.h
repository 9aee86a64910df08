// options/logging.h - the log (wire spec 6.1).
#pragma once

#include "options/option.h"

namespace options {

inline Text log_path({
    .name = "logpath",
    .yaml = {"systemLog.path"},
    .group = Group::logging,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "standard output",
    .help = "Log to a file instead of {default}.",
});

inline Flag log_append({
    .name = "logappend",
    .yaml = {"systemLog.logAppend"},
    .group = Group::logging,
    .help = "Go on with the log file of the last run. Otherwise that one is renamed first.",
});

inline Flag log_to_syslog({
    .name = "syslog",
    .yaml = {"systemLog.destination"},
    .yaml_words = {{"syslog", true}, {"file", false}},
    .group = Group::logging,
    .help = "Log to the system's log; not together with --logpath.",
});

inline Text syslog_facility({
    .name = "syslogFacility",
    .yaml = {"systemLog.syslogFacility"},
    .group = Group::logging,
    .value_name = "NAME",
    .default_value = "user",
    .help = "Facility for --syslog. Default {default}.",
});

inline Text time_stamp_format({
    .name = "timeStampFormat",
    .yaml = {"systemLog.timeStampFormat"},
    .group = Group::logging,
    .value_name = "FORMAT",
    .default_value = "iso8601-local",
    .choices = {"ctime", "iso8601-utc", "iso8601-local"},
    .choice_error = "Value of logTimestampFormat must be one of {choices}; not \"{value}\".",
    .help = "{choices}. Default {default}.",
});

inline Integer verbose({
    .name = "verbose",
    .letter = 'v',
    .yaml = {"systemLog.verbosity"},
    .group = Group::logging,
    .value_name = "LEVEL",
    .default_value = 0,
    .range = Range{0, 5},
    .help = "Log more: -v to -vvvvv. Default {default}.",
    .parameter = Parameter::always,
    .parameter_name = "logLevel",
});

inline Flag quiet({
    .name = "quiet",
    .yaml = {"systemLog.quiet"},
    .group = Group::logging,
    .help = "Log less: no lines about connections.",
    .parameter = Parameter::always,
});

inline Flag trace_exceptions({
    .name = "traceExceptions",
    .yaml = {"systemLog.traceAllExceptions"},
    .group = Group::logging,
    .help = "Log every error where it is thrown, also those that clients get as replies. For "
            "finding faults. Default {default}.",
    .parameter = Parameter::always,
});

}  // namespace options
