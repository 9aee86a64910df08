#include "os/confined_file_system.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "os/posix/descriptor.h"
#include "os/posix/file.h"

namespace os {

namespace {

constexpr int kEntry = O_PATH | O_NOFOLLOW | O_CLOEXEC;  // whatever it is, also a link
constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr int kReadFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string without_slashes_at_end(std::string path) {
    while (path.size() > 1 && path.back() == '/')
        path.pop_back();
    return path;
}

int openat2_beneath(int directory, const char* path, int flags, unsigned mode) {
    open_how how{};
    how.flags = static_cast<uint64_t>(flags);
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    int fd = -1;
    do {  // EAGAIN: something was renamed at the same time
        fd = static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    return fd;
}

bool is_link_at(int directory, const char* name) {
    struct stat info {};
    return ::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

// Opens below the directory as openat2_beneath() does, part by part. `path` is relative and made of
// plain names.
int walk_beneath(int directory, std::string_view path, int flags, unsigned mode) {
    Descriptor at;
    for (;;) {
        const int from = at ? at.get() : directory;
        const size_t slash = path.find('/');
        const std::string name(path.substr(0, slash));
        const bool last = slash == std::string_view::npos;
        const int fd = ::openat(from, name.c_str(), (last ? flags : kFolder) | O_NOFOLLOW, mode);
        if (fd < 0 && errno == ENOTDIR && is_link_at(from, name.c_str())) errno = ELOOP;
        if (fd < 0 || last) return fd;
        at = Descriptor(fd);
        path.remove_prefix(slash + 1);
    }
}

// Names as they stand in a directory.
bool is_plain(std::string_view path) {
    if (path.find('\0') != std::string_view::npos) return false;
    for (;;) {
        const size_t slash = path.find('/');
        const std::string_view name = path.substr(0, slash);
        if (name.empty() || name == "." || name == "..") return false;
        if (slash == std::string_view::npos) return true;
        path.remove_prefix(slash + 1);
    }
}

class ConfinedFileSystem final : public FileSystem {
  public:
    ConfinedFileSystem(const std::string& directory, const std::vector<std::string>& followed,
                       PathWalk walk) {
        add_root(directory);
        for (const std::string& each : followed)
            add_root(each);
        // The inner one of two roots that fit counts.
        std::ranges::sort(roots_, std::ranges::greater(),
                          [](const Root& root) { return root.path.size(); });
        by_kernel_ = walk == PathWalk::by_kernel && kernel_can();
    }

    std::unique_ptr<File> open(const std::string& path, const OpenOptions& options) override {
        struct stat info {};
        if (is_there(path, &info) && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
            throw IoError(fmt::format("{} cannot be opened: it is no regular file", path),
                          std::make_error_code(S_ISDIR(info.st_mode) ? std::errc::is_a_directory
                                                                     : std::errc::not_supported));
        if (options.access != Access::read && S_ISREG(info.st_mode) && info.st_nlink > 1)
            throw IoError(
                fmt::format(
                    "{} cannot be opened for writing: it is a hard link, and what is written "
                    "would change the same file under its other name, which may lie "
                    "anywhere. Put a copy in its place",
                    path),
                std::make_error_code(std::errc::too_many_links));
        try {
            return open_posix(path, options,
                              [&](int flags) { return open_at(path, flags, options.mode); });
        } catch (const IoError& error) {
            if (error.reason() != std::errc::too_many_symbolic_link_levels) throw;
            errno = ELOOP;
            fail("open", path);
        }
    }
    std::unique_ptr<Mapping> map(File& file, MapKind kind, uint64_t length) override {
        return map_posix(file, kind, length);
    }
    bool has_write_through() const override { return false; }

    bool exists(const std::string& path) override {
        struct stat info {};
        return is_there(path, &info);
    }
    bool is_directory(const std::string& path) override {
        struct stat info {};
        return is_there(path, &info) && S_ISDIR(info.st_mode);
    }
    bool is_link(const std::string& path) override {
        struct stat info {};
        return is_there(path, &info) && S_ISLNK(info.st_mode);
    }
    uint64_t file_length(const std::string& path) override {
        struct stat info {};
        if (!stat(path, &info)) fail("stat", path);
        return static_cast<uint64_t>(info.st_size);
    }
    std::vector<std::string> list(const std::string& directory) override {
        return list_posix(opened(directory, kReadFolder).release(), directory);
    }

    void create_directory(const std::string& path) override {
        if (is_directory(path)) return;
        const Parent parent = parent_of(path);
        if (::mkdirat(parent.folder.get(), parent.name.c_str(), 0777) == 0) return;
        const int why = errno;  // to look there sets another
        if (why == EEXIST && is_directory(path)) return;
        errno = why == EEXIST && is_link(path) ? ELOOP : why;
        fail("mkdir", path);
    }
    void remove(const std::string& path) override {
        const Parent parent = parent_of(path);
        if (::unlinkat(parent.folder.get(), parent.name.c_str(), 0) == 0) return;
        if (errno != EISDIR && errno != EPERM) fail("remove", path);
        if (::unlinkat(parent.folder.get(), parent.name.c_str(), AT_REMOVEDIR) != 0)
            fail("remove", path);
    }
    void rename(const std::string& from, const std::string& to) override {
        const Parent old = parent_of(from);
        const Parent fresh = parent_of(to);
        if (::renameat(old.folder.get(), old.name.c_str(), fresh.folder.get(),
                       fresh.name.c_str()) != 0)
            fail("rename", from);
    }
    void sync_directory(const std::string& path) override {
        sync_posix_directory(opened(path, kReadFolder).get(), path);
    }

    uint64_t free_bytes(const std::string& path) override {
        struct statvfs info {};
        if (::fstatvfs(opened(path, kEntry).get(), &info) != 0) fail("statvfs", path);
        return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
    }
    std::optional<uint64_t> device_of(const std::string& path) override {
        struct stat info {};
        if (!stat(path, &info)) return std::nullopt;
        return static_cast<uint64_t>(info.st_dev);
    }

  private:
    struct Root {
        std::string path;
        Descriptor folder;
        int error = 0;  // why there is none
    };
    struct Parent {
        Descriptor folder;
        std::string name;
    };

    [[noreturn]] static void fail(const char* call, const std::string& path) {
        const int number = errno;
        const char* hint = number == ELOOP ? " (links below a data directory are not followed: put "
                                             "what it leads to in its place, or mount it there)"
                                           : "";
        throw IoError(fmt::format("{} of {} failed{}", call, path, hint),
                      std::error_code(number, std::generic_category()));
    }

    void add_root(const std::string& path) {
        Root root{without_slashes_at_end(path), Descriptor(::open(path.c_str(), kFolder)), 0};
        if (!root.folder) root.error = errno;
        roots_.push_back(std::move(root));
    }

    bool kernel_can() const {
        const Root& root = roots_.back();
        return !root.folder || Descriptor(openat2_beneath(root.folder.get(), ".", kFolder, 0));
    }

    // The root that a path lies below; `rest` is what follows it, empty for the root itself. Null,
    // with errno, for a path outside of all.
    const Root* root_of(const std::string& path, std::string_view* rest) const {
        const std::string whole = without_slashes_at_end(path);
        for (const Root& root : roots_) {
            if (!whole.starts_with(root.path)) continue;
            std::string_view behind = std::string_view(path).substr(root.path.size());
            behind = behind.substr(0, whole.size() - root.path.size());
            if (!behind.empty() && root.path != "/") {
                if (behind.front() != '/') continue;
                behind.remove_prefix(1);
            }
            if (!behind.empty() && !is_plain(behind)) break;
            errno = root.error;
            *rest = behind;
            return root.folder ? &root : nullptr;
        }
        errno = EXDEV;  // what openat2 says of such paths
        return nullptr;
    }

    // Opens as open(2) does: returns a descriptor, or -1 with errno.
    int open_at(const std::string& path, int flags, unsigned mode = 0) const {
        std::string_view rest;
        const Root* root = root_of(path, &rest);
        if (root == nullptr) return -1;
        const std::string name(rest.empty() ? "." : rest);
        return by_kernel_ ? openat2_beneath(root->folder.get(), name.c_str(), flags, mode)
                          : walk_beneath(root->folder.get(), name, flags, mode);
    }
    Descriptor opened(const std::string& path, int flags) const {
        Descriptor fd(open_uninterrupted([&] { return open_at(path, flags); }));
        if (!fd) fail("open", path);
        return fd;
    }
    // Tells the stat of the entry itself; false, with errno, if there is none.
    bool stat(const std::string& path, struct stat* info) const {
        const Descriptor fd(open_uninterrupted([&] { return open_at(path, kEntry); }));
        return fd && ::fstat(fd.get(), info) == 0;
    }
    // Returns false if there is none; throws if that is unknown.
    bool is_there(const std::string& path, struct stat* info) const {
        if (stat(path, info)) return true;
        if (!cannot_tell(errno)) return false;
        fail("stat", path);
    }
    Parent parent_of(const std::string& path) const {
        std::string_view rest;
        const Root* root = root_of(path, &rest);
        if (root != nullptr && rest.empty()) {
            errno = EBUSY;  // a root stays
            root = nullptr;
        }
        if (root == nullptr) fail("use", path);
        return {opened(parent(without_slashes_at_end(path)), kFolder), base_name(rest)};
    }

    std::vector<Root> roots_;  // longest path first
    bool by_kernel_ = false;
};

}  // namespace

std::unique_ptr<FileSystem> confined_file_system(const std::string& directory,
                                                 const std::vector<std::string>& followed,
                                                 PathWalk walk) {
    return std::make_unique<ConfinedFileSystem>(directory, followed, walk);
}

}  // namespace os
