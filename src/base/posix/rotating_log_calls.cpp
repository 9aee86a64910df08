#include "base/rotating_log_calls.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace base::rotating_log_calls {

namespace {

constexpr mode_t kMode = 0600;

// Of what is there already. A pipe without a reader fails with ENXIO instead of waiting for one;
// lines are written to it at its reader's pace.
int open_existing(const char* path, int flags) {
    const int fd = ::open(path, flags | O_NONBLOCK);
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

}  // namespace

bool exists(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
}

// A device ("/dev/null") or a pipe is written to, never renamed.
bool is_regular_with_content(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size != 0;
}

// A new one is made as such; a link is followed only to what is no file ("/dev/stdout").
int open(const std::string& path) {
    constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC;
    int fd = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
    if (fd < 0 && errno == EEXIST) fd = open_existing(path.c_str(), kFlags | O_NOFOLLOW);
    if (fd >= 0) ::flock(fd, LOCK_SH | LOCK_NB);  // a mark, for is_being_written
    if (fd >= 0 || errno != ELOOP) return fd;
    fd = open_existing(path.c_str(), kFlags);
    struct stat info {};
    if (fd >= 0 && ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode)) return fd;
    if (fd >= 0) ::close(fd);
    errno = ELOOP;
    return -1;
}

bool is_being_written(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    const bool result = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(fd);
    return result;
}

void close(int descriptor) {
    ::close(descriptor);
}

void write_line(int descriptor, std::string_view line) {
    iovec parts[2] = {{const_cast<char*>(line.data()), line.size()}, {const_cast<char*>("\n"), 1}};
    [[maybe_unused]] const ssize_t written = ::writev(descriptor, parts, 2);
}

// Takes no other file's place, where the file system can promise that.
bool rename(const std::string& from, const std::string& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
        return true;
    return (errno == EINVAL || errno == ENOSYS) && ::rename(from.c_str(), to.c_str()) == 0;
}

void redirect_output(int descriptor) {
    ::dup2(descriptor, STDOUT_FILENO);
    ::dup2(descriptor, STDERR_FILENO);
}

}  // namespace base::rotating_log_calls
