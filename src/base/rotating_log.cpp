#include "base/rotating_log.h"

#include <fmt/chrono.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "base/rotating_log_calls.h"

namespace base {

namespace calls = rotating_log_calls;

namespace {

std::string name_aside(const std::string& path) {
    const std::string stamp = fmt::format("{:%Y-%m-%dT%H-%M-%S}", fmt::gmtime(std::time(nullptr)));
    std::string name = fmt::format("{}.{}", path, stamp);
    for (int i = 1; calls::exists(name); ++i)
        name = fmt::format("{}.{}.{}", path, stamp, i);
    return name;
}

}  // namespace

RotatingLog::RotatingLog(std::string path, bool append) : path_(std::move(path)) {
    if (calls::is_regular_with_content(path_)) {
        appended_ = append || calls::is_being_written(path_);
        if (!appended_) moved_to_ = move_aside();
    }
    open();
}

RotatingLog::~RotatingLog() {
    calls::close(fd_);
}

void RotatingLog::open() {
    const int fd = calls::open(path_);
    if (fd < 0)
        fail(kUnknownError, "cannot open the log file {}: {}{}", path_, std::strerror(errno),
             errno == ELOOP ? "; it is a link to another file: name that one" : "");
    if (fd_ >= 0) calls::close(fd_);
    fd_ = fd;
}

std::string RotatingLog::move_aside() const {
    std::string name = name_aside(path_);
    if (!calls::rename(path_, name)) {
        fail(kUnknownError, "cannot rename the log file {} to {}: {}", path_, name,
             std::strerror(errno));
    }
    return name;
}

void RotatingLog::write(std::string_view line) {
    const std::lock_guard guard(mutex_);
    calls::write_line(fd_, line);
}

void RotatingLog::rotate() {
    const std::lock_guard guard(mutex_);
    if (calls::is_regular_with_content(path_)) move_aside();
    open();
    if (captures_) calls::redirect_output(fd_);
}

void RotatingLog::capture_output() {
    const std::lock_guard guard(mutex_);
    captures_ = true;
    calls::redirect_output(fd_);
}

}  // namespace base
