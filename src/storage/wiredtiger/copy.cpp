#include "storage/wiredtiger/copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <vector>

#include "storage/wiredtiger/cursor_handle.h"
#include "storage/wiredtiger/disk.h"
#include "storage/wiredtiger/status.h"

namespace wt {

namespace {

// A file, closed at the end.
class Open {
  public:
    Open(const kv::Host& host, const std::string& path, int flags)
        : file_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
        if (file_ < 0) fail_errno(host, path);
    }
    ~Open() { ::close(file_); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    int get() const { return file_; }

  private:
    const int file_;
};

void write_all(const kv::Host& host, const Open& file, const std::string& path,
               std::span<const char> bytes, off_t at) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), at);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_errno(host, path);
        at += written;
        bytes = bytes.subspan(static_cast<size_t>(written));
    }
}

// Zeros become holes: most of the last file of the log are zeros, and commits wait for its copy.
void copy_file(const kv::Host& host, const std::string& from, const std::string& to,
               const kv::Copy& copy) {
    constexpr size_t kPieceBytes = size_t{1} << 20;
    const Open in(host, from, O_RDONLY);
    const Open out(host, to, O_WRONLY | O_CREAT | O_EXCL);
    std::vector<char> buffer(kPieceBytes);
    off_t at = 0;
    for (;;) {
        const ssize_t bytes = ::read(in.get(), buffer.data(), buffer.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) fail_errno(host, from);
        if (bytes == 0) break;
        copy.before_piece(static_cast<uint64_t>(bytes));
        const std::span<const char> piece(buffer.data(), static_cast<size_t>(bytes));
        if (!std::ranges::all_of(piece, [](char byte) { return byte == 0; }))
            write_all(host, out, to, piece, at);
        at += bytes;
    }
    if (::ftruncate(out.get(), at) != 0) fail_errno(host, to);
}

}  // namespace

// Tables that are made later have their rows in the log and no file in the copy, so the log is
// copied before anything may be committed.
void copy_files(const kv::Host& host, const Connection& connection, const std::string& from,
                const kv::Copy& copy) {
    const SessionHandle session = connection.open_session();
    const CursorHandle files = open_cursor(host, session.get(), "backup:");
    std::vector<std::string> names;
    int status = 0;
    while ((status = files->next(files.get())) == 0) {
        const char* name = nullptr;
        check(host, files->get_key(files.get(), &name));
        names.emplace_back(name);
    }
    if (status != WT_NOTFOUND) fail_status(host, status);
    make_directory(host, copy.directory);
    const auto tables = std::ranges::partition(
        names, [](const std::string& name) { return name.starts_with("WiredTigerLog."); });
    for (auto name = names.begin(); name != names.end(); ++name) {
        if (name == tables.begin()) copy.may_commit();
        copy_file(host, from + "/" + *name, copy.directory + "/" + *name, copy);
    }
}

}  // namespace wt
