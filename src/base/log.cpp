#include "base/log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <exception>
#include <mutex>

#include "base/escape_control_chars.h"

namespace base::log {

namespace {

constexpr size_t kRingLines = 1024;
// Longer messages are shown as their beginning and end.
constexpr size_t kMessageBytesMax = 10 * 1024;

std::atomic<int> g_verbosity{0};
std::atomic<bool> g_quiet{false};
std::atomic<TimestampFormat> g_format{TimestampFormat::iso8601_local};
thread_local std::string t_context = "main";

struct State {
    std::mutex mutex;
    Sink sink;  // empty: standard output
    std::deque<std::string> lines;
    int64_t total = 0;
    std::deque<std::string> warnings;
    int64_t warnings_total = 0;
};

// Never destroyed: threads may still log while the process exits.
State& state() {
    static State* s = new State;
    return *s;
}

const char* word(Severity severity) {
    switch (severity) {
        case Severity::warning:
            return "warning: ";
        case Severity::error:
            return "ERROR: ";
        case Severity::severe:
            return "SEVERE: ";
        case Severity::info:
            break;
    }
    return "";
}

void remember(std::deque<std::string>& ring, const std::string& line) {
    ring.push_back(line);
    if (ring.size() > kRingLines) ring.pop_front();
}

void to_stdout(const std::string& line) {
    std::string out = line + "\n";
    size_t done = 0;
    while (done < out.size()) {
        const ssize_t n = ::write(STDOUT_FILENO, out.data() + done, out.size() - done);
        if (n <= 0) return;  // the reader of our output is gone; there is no other place
        done += static_cast<size_t>(n);
    }
}

// How far a local time is ahead of UTC. Not by strftime's %z, which is a name on Windows.
int minutes_east(const tm& local, time_t utc) {
    using namespace std::chrono;
    const sys_days day = year(local.tm_year + 1900) / (local.tm_mon + 1) / local.tm_mday;
    const auto as_utc = day + hours(local.tm_hour) + minutes(local.tm_min);
    return static_cast<int>(
        round<minutes>(as_utc - system_clock::from_time_t(utc) + seconds(local.tm_sec)).count());
}

std::string shortened(std::string_view text) {
    constexpr size_t kHalf = kMessageBytesMax / 2;
    return fmt::format("warning: log line attempted ({}k) over max size ({}k): {} ... {}",
                       text.size() / 1024, kMessageBytesMax / 1024, text.substr(0, kHalf),
                       text.substr(text.size() - kHalf));
}

// What is written out instead of being shown may take four times the place.
std::string as_line(std::string_view text) {
    const bool fits = text.size() <= kMessageBytesMax;
    std::string line = escape_control_chars(fits ? std::string(text) : shortened(text));
    // getLog shows all lines that are kept in one document.
    constexpr size_t kMarginBytes = 1024;
    if (line.size() <= kMessageBytesMax + kMarginBytes) return line;
    return escape_control_chars(shortened(line));  // cut once more, perhaps within a character
}

void emit(Severity severity, std::string_view text, bool startup) {
    const std::string line = fmt::format(
        "{} [{}] {}{}",
        timestamp(std::chrono::system_clock::now(), g_format.load(std::memory_order_relaxed)),
        t_context, word(severity), as_line(text));
    State& s = state();
    const std::lock_guard guard(s.mutex);
    remember(s.lines, line);
    ++s.total;
    if (startup) {
        remember(s.warnings, line);
        ++s.warnings_total;
    }
    if (s.sink) {
        s.sink(severity, line);
    } else {
        to_stdout(line);
    }
}

}  // namespace

int verbosity() {
    return g_verbosity.load(std::memory_order_relaxed);
}
void set_verbosity(int level) {
    g_verbosity.store(level, std::memory_order_relaxed);
}

bool quiet() {
    return g_quiet.load(std::memory_order_relaxed);
}
void set_quiet(bool on) {
    g_quiet.store(on, std::memory_order_relaxed);
}

void set_context(std::string_view name) {
    t_context = name;
}
std::string_view context() {
    return t_context;
}

void set_timestamp_format(TimestampFormat format) {
    g_format.store(format);
}

std::string timestamp(std::chrono::system_clock::time_point at, TimestampFormat format) {
    const time_t seconds = std::chrono::system_clock::to_time_t(at);
    const auto ms = static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count() %
        1000);
    if (format == TimestampFormat::iso8601_utc)
        return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), ms);
    const tm parts = fmt::localtime(seconds);
    if (format == TimestampFormat::ctime)
        return fmt::format("{:%a %b %e %H:%M:%S}.{:03}", parts, ms);
    const int east = minutes_east(parts, seconds);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}{}{:02}{:02}", parts, ms, east < 0 ? '-' : '+',
                       std::abs(east) / 60, std::abs(east) % 60);
}

void set_sink(Sink sink) {
    const std::lock_guard guard(state().mutex);
    state().sink = std::move(sink);
}

Ring recent_lines() {
    const std::lock_guard guard(state().mutex);
    return {{state().lines.begin(), state().lines.end()}, state().total};
}

Ring startup_warnings() {
    const std::lock_guard guard(state().mutex);
    return {{state().warnings.begin(), state().warnings.end()}, state().warnings_total};
}

void startup_warning(std::string_view text) {
    emit(Severity::info, text, true);
}

void write(Severity severity, std::string_view text) try {
    emit(severity, text, false);
} catch (const std::exception&) {
}

void write_formatted(Severity severity, fmt::string_view format, fmt::format_args args) try {
    emit(severity, fmt::vformat(format, args), false);
} catch (const std::exception&) {
}

}  // namespace base::log
