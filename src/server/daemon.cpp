#include "server/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "options/catalogue.h"
#include "os/confined_file_system.h"
#include "os/file_system.h"

namespace server {

namespace {

std::string lock_path(const std::string& dbpath) {
    return os::join(dbpath, "mongod.lock");
}

[[noreturn]] void wait_for_child(pid_t child, int ready_fd) {
    std::printf("forked process: %d\n", static_cast<int>(child));
    std::fflush(stdout);
    char byte = 0;
    ssize_t n = 0;
    do {
        n = ::read(ready_fd, &byte, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1) {
        std::printf("child process started successfully, parent exiting\n");
        std::fflush(stdout);
        ::_exit(base::kExitClean);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    constexpr int kDiedBySignal = 50;  // wire spec 6.2: the child died without a status
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kDiedBySignal;
    std::printf("ERROR: child process failed, exited with error number %d\n", code);
    std::fflush(stdout);
    ::_exit(code);
}

void detach() {
    ::setsid();
    if (::chdir("/") != 0) base::fail(base::kUnknownError, "cannot change to /");
    const int null = ::open("/dev/null", O_RDWR);
    if (null < 0) return;
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::dup2(null, fd);
    if (null > STDERR_FILENO) ::close(null);
}

// The process id in the lock file of a server that runs; 0 if none does. A server holds a lock on
// its file; without that, the number in it may belong to any process by now. Throws os::IoError.
pid_t locked_by(const std::string& dbpath) try {
    const auto files = os::confined_file_system(dbpath);
    const auto file = files->open(lock_path(dbpath), {.access = os::Access::read_write});
    if (file->try_lock()) return 0;
    std::array<uint8_t, 16> text{};
    const size_t length = file->read_at(0, text);
    const auto* const begin = reinterpret_cast<const char*>(text.data());
    pid_t pid = 0;
    std::from_chars(begin, begin + length, pid);
    return std::max(pid, 0);
} catch (const os::IoError& error) {
    if (error.not_found()) return 0;
    throw;
}

// Whether it has that file open, or that is unknown. A server in another container has another
// number than it wrote, and that number may belong to any process here.
bool may_have_open(pid_t pid, const std::string& path) {
    struct stat wanted {
    }, found{};
    if (::stat(path.c_str(), &wanted) != 0) return true;
    std::error_code unknown;
    const std::string folder = fmt::format("/proc/{}/fd", static_cast<int>(pid));
    for (std::filesystem::directory_iterator it(folder, unknown), end; !unknown && it != end;
         it.increment(unknown)) {
        if (::stat(it->path().c_str(), &found) == 0 && found.st_dev == wanted.st_dev &&
            found.st_ino == wanted.st_ino)
            return true;
    }
    return static_cast<bool>(unknown);
}

// Whether a file holds what servers write there, or nothing: what else lies under that name is
// kept.
bool holds_process_id(int fd) {
    std::array<char, 16> text{};
    const ssize_t length = ::pread(fd, text.data(), text.size(), 0);
    if (length < 0) return false;
    const std::string_view content(text.data(), static_cast<size_t>(length));
    return content.size() < text.size() &&
           content.find_first_not_of("0123456789\n") == std::string_view::npos;
}

int complain(const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return base::kExitError;
}

}  // namespace

void prepare_process() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // A new descriptor has the lowest number that is free.
        if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd)
            base::fail(base::kUnknownError,
                       "descriptor {} is closed, and /dev/null cannot be opened", fd);
    }
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
}

void Readiness::tell() {
    if (fd_ < 0) return;
    const char byte = 1;
    [[maybe_unused]] const ssize_t n = ::write(fd_, &byte, 1);
    ::close(fd_);
    fd_ = -1;
}

Readiness fork_into_background() {
    std::printf("about to fork child process, waiting until server is ready for connections.\n");
    std::fflush(stdout);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        base::fail(base::kUnknownError, "cannot make a pipe: {}", std::strerror(errno));
    const pid_t child = ::fork();
    if (child < 0) base::fail(base::kUnknownError, "cannot fork: {}", std::strerror(errno));
    if (child != 0) {
        ::close(ends[1]);
        wait_for_child(child, ends[0]);
    }
    ::close(ends[0]);
    detach();
    return Readiness(ends[1]);
}

void make_paths_absolute() {
    for (options::Text* option :
         {&options::dbpath, &options::repair_path, &options::log_path, &options::pid_file,
          &options::replay_oplog, &options::unix_socket_prefix, &options::first_user_file,
          &options::key_file, &options::tls_certificate_key_file, &options::tls_ca_file,
          &options::tls_crl_file, &options::coordinator_password_file,
          &options::coordinator_ca_file, &options::coordinator_certificate_key_file}) {
        if (option->get().empty()) continue;
        std::string path = std::filesystem::absolute(option->get()).lexically_normal();
        if (path.size() > 1 && path.back() == '/') path.pop_back();
        option->set(path);
    }
}

PidFile::PidFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    constexpr mode_t kMode = 0644;
    constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    fd_ = ::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, kMode);
    if (fd_ < 0 && errno == EEXIST) fd_ = ::open(path_.c_str(), kFlags);
    if (fd_ < 0) fail(std::strerror(errno));
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
        ::close(fd_);
        fd_ = -1;
        held_by_other_ = true;
        return;
    }
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) fail("it is no file");
    if (info.st_nlink > 1) fail("it is a hard link, and has another name");
    if (!holds_process_id(fd_)) fail("it is there and holds something else than a process id");
    const std::string text = fmt::format("{}\n", ::getpid());
    if (::ftruncate(fd_, 0) != 0 ||
        ::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        fail(std::strerror(errno));
}

void PidFile::fail(const char* why) {
    if (fd_ >= 0) ::close(fd_);
    base::fail(base::kUnknownError, "cannot write the pid file {}: {}", path_, why);
}

void PidFile::check() const {
    if (held_by_other_)
        base::fail(base::kUnknownError,
                   "the pid file {} is that of another server, which is running; give each its own",
                   path_);
}

// Removes only our own file: another process may have put one in its place.
PidFile::~PidFile() {
    if (fd_ < 0) return;
    struct stat ours {
    }, there{};
    if (::fstat(fd_, &ours) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        ::unlink(path_.c_str());
    ::close(fd_);
}

int stop_other_server(const std::string& dbpath) try {
    const std::string none_running =
        fmt::format("There doesn't seem to be a server running with dbpath: {}", dbpath);
    const pid_t pid = locked_by(dbpath);
    if (pid == 0) return complain(none_running);
    const auto process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (process >= 0 && !may_have_open(pid, lock_path(dbpath))) {
        ::close(process);
        if (locked_by(dbpath) == 0) return complain(none_running);  // it has just ended
        return complain(
            fmt::format("the server with dbpath {} runs in another container: process "
                        "{} is another program here; stop it there",
                        dbpath, pid));
    }
    if (process < 0 && errno != ESRCH)
        return complain(fmt::format("cannot watch process {}: {}", pid, std::strerror(errno)));
    std::printf("killing process with pid: %d\n", static_cast<int>(pid));
    std::fflush(stdout);
    if (process < 0) return base::kExitClean;  // gone already
    if (::kill(pid, SIGTERM) != 0) {
        ::close(process);
        return complain(fmt::format("failed to kill process: {}", std::strerror(errno)));
    }
    pollfd watched{process, POLLIN, 0};
    while (::poll(&watched, 1, -1) < 0 && errno == EINTR) {
    }
    ::close(process);
    return base::kExitClean;
} catch (const os::IoError& error) {
    return complain(error.what());
}

}  // namespace server
