// base/log.h - the server's log: one line per event in the old format, "TIMESTAMP [context]
// message".
//
// Any thread may log at any time. The context is the thread's name ("initandlisten", "conn7",
// "journal"). Lines go to the sinks that server/ sets up (standard output, file, syslog) and into a
// small ring in memory for getLog. Severity shows as a word before the message: "warning: ",
// "ERROR: ", "SEVERE: " (wire spec 6.3).
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace base::log {

enum class Severity { info, warning, error, severe };

// Verbosity 0..5; debug(n, ...) is written when n <= verbosity.
int verbosity();
void set_verbosity(int level);

// --quiet: the server says less about connections coming and going.
bool quiet();
void set_quiet(bool on);

// The calling thread's context between the brackets. Cheap; a connection sets it for the time of an
// operation.
void set_context(std::string_view name);
std::string_view context();

enum class TimestampFormat { ctime, iso8601_utc, iso8601_local };
void set_timestamp_format(TimestampFormat format);
// A moment as such a timestamp.
std::string timestamp(std::chrono::system_clock::time_point at, TimestampFormat format);

// Where finished lines go (without newline). Called under the log's mutex. Default: standard
// output, flushed per line.
using Sink = std::function<void(Severity, std::string_view line)>;
void set_sink(Sink sink);

// The last 1024 lines of everything, or of start-up warnings (getLog). total counts all ever
// written.
struct Ring {
    std::vector<std::string> lines;
    int64_t total = 0;
};
Ring recent_lines();
Ring startup_warnings();
void startup_warning(std::string_view text);  // logs as a warning and remembers for getLog

// Throw nothing, also for want of memory: a line that cannot be made or written is left out.
void write(Severity severity, std::string_view text);
void write_formatted(Severity severity, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    write_formatted(Severity::info, format, fmt::make_format_args(args...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    write_formatted(Severity::warning, format, fmt::make_format_args(args...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    write_formatted(Severity::error, format, fmt::make_format_args(args...));
}
template <typename... Args>
void debug(int level, fmt::format_string<Args...> format, Args&&... args) {
    if (level <= verbosity())
        write_formatted(Severity::info, format, fmt::make_format_args(args...));
}

}  // namespace base::log
