// The file system of Linux and other POSIX systems.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os/file_system.h"
#include "os/posix/descriptor.h"
#include "os/posix/file.h"

namespace os {

namespace {

// Whether the result of stat says that the path is there; throws if it says nothing.
bool is_there(int result, const std::string& path) {
    if (result == 0) return true;
    if (!cannot_tell(errno)) return false;
    fail_io("stat", path);
}

int open_directory(const std::string& path) {
    return open_uninterrupted(
        [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
}

class PosixFileSystem final : public FileSystem {
  public:
    std::unique_ptr<File> open(const std::string& path, const OpenOptions& options) override {
        return open_posix(path, options,
                          [&](int flags) { return ::open(path.c_str(), flags, options.mode); });
    }

    std::unique_ptr<Mapping> map(File& file, MapKind kind, uint64_t length) override {
        return map_posix(file, kind, length);
    }

    bool has_write_through() const override { return false; }

    bool exists(const std::string& path) override {
        struct stat info {};
        return is_there(::stat(path.c_str(), &info), path);
    }
    bool is_directory(const std::string& path) override {
        struct stat info {};
        return is_there(::stat(path.c_str(), &info), path) && S_ISDIR(info.st_mode);
    }
    bool is_link(const std::string& path) override {
        struct stat info {};
        return is_there(::lstat(path.c_str(), &info), path) && S_ISLNK(info.st_mode);
    }
    uint64_t file_length(const std::string& path) override {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0) fail_io("stat", path);
        return static_cast<uint64_t>(info.st_size);
    }

    std::vector<std::string> list(const std::string& directory) override {
        return list_posix(open_directory(directory), directory);
    }

    void create_directory(const std::string& path) override {
        if (::mkdir(path.c_str(), 0777) == 0) return;
        if (errno == EEXIST && is_directory(path)) return;
        fail_io("mkdir", path);
    }
    void remove(const std::string& path) override {
        if (std::remove(path.c_str()) != 0) fail_io("remove", path);
    }
    void rename(const std::string& from, const std::string& to) override {
        if (std::rename(from.c_str(), to.c_str()) != 0) fail_io("rename", from);
    }

    void sync_directory(const std::string& path) override {
        const Descriptor directory(open_directory(path));
        if (!directory) fail_io("open", path);
        sync_posix_directory(directory.get(), path);
    }

    uint64_t free_bytes(const std::string& path) override {
        struct statvfs info {};
        if (::statvfs(path.c_str(), &info) != 0) fail_io("statvfs", path);
        return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
    }
    std::optional<uint64_t> device_of(const std::string& path) override {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0) return std::nullopt;
        return static_cast<uint64_t>(info.st_dev);
    }
};

}  // namespace

FileSystem& real_file_system() {
    static PosixFileSystem instance;
    return instance;
}

}  // namespace os
