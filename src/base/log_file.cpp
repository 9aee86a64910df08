#include "base/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.h"

namespace base {

namespace {

constexpr mode_t kMode = 0600;

bool exists(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
}

// A device ("/dev/null") or a pipe is written to, never renamed.
bool is_regular_with_content(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size != 0;
}

std::string name_aside(const std::string& path) {
    const time_t now = ::time(nullptr);
    tm parts{};
    ::gmtime_r(&now, &parts);
    char stamp[32];
    ::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H-%M-%S", &parts);
    std::string name = fmt::format("{}.{}", path, stamp);
    for (int i = 1; exists(name); ++i)
        name = fmt::format("{}.{}.{}", path, stamp, i);
    return name;
}

}  // namespace

LogFile::LogFile(std::string path, bool append) : path_(std::move(path)) {
    if (is_regular_with_content(path_)) {
        appended_ = append;
        if (!append) moved_to_ = move_aside();
    }
    open();
}

LogFile::~LogFile() {
    ::close(fd_);
}

void LogFile::open() {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
    if (fd < 0) fail(kUnknownError, "cannot open the log file {}: {}", path_, std::strerror(errno));
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

std::string LogFile::move_aside() const {
    const std::string name = name_aside(path_);
    if (::rename(path_.c_str(), name.c_str()) != 0) {
        fail(kUnknownError, "cannot rename the log file {} to {}: {}", path_, name,
             std::strerror(errno));
    }
    return name;
}

void LogFile::write(std::string_view line) {
    const std::lock_guard guard(mutex_);
    iovec parts[2] = {{const_cast<char*>(line.data()), line.size()}, {const_cast<char*>("\n"), 1}};
    // The file is in append mode, so one call keeps the line in one piece.
    [[maybe_unused]] const ssize_t written = ::writev(fd_, parts, 2);
}

void LogFile::rotate() {
    const std::lock_guard guard(mutex_);
    if (is_regular_with_content(path_)) move_aside();
    open();
    if (captures_) redirect();
}

void LogFile::capture_output() {
    const std::lock_guard guard(mutex_);
    captures_ = true;
    redirect();
}

void LogFile::redirect() const {
    ::dup2(fd_, STDOUT_FILENO);
    ::dup2(fd_, STDERR_FILENO);
}

}  // namespace base
