#include "base/log_file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

namespace base::log_file_calls {

namespace {

constexpr mode_t kMode = 0600;

}  // namespace

bool exists(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
}

// A device ("/dev/null") or a pipe is written to, never renamed.
bool is_regular_with_content(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size != 0;
}

int open(const std::string& path) {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
}

void close(int descriptor) {
    ::close(descriptor);
}

void write_line(int descriptor, std::string_view line) {
    iovec parts[2] = {{const_cast<char*>(line.data()), line.size()}, {const_cast<char*>("\n"), 1}};
    [[maybe_unused]] const ssize_t written = ::writev(descriptor, parts, 2);
}

bool rename(const std::string& from, const std::string& to) {
    return ::rename(from.c_str(), to.c_str()) == 0;
}

void redirect_output(int descriptor) {
    ::dup2(descriptor, STDOUT_FILENO);
    ::dup2(descriptor, STDERR_FILENO);
}

}  // namespace base::log_file_calls
