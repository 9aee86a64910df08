#include "os/posix/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/spare_descriptors.h"

namespace os {

[[noreturn]] void fail_io(const char* call, const std::string& path) {
    const int number = errno;
    throw IoError(fmt::format("{} of {} failed", call, path),
                  std::error_code(number, std::generic_category()));
}

bool cannot_tell(int number) {
    switch (number) {
        case EIO:
        case ENOMEM:
        case EMFILE:
        case ENFILE:
        case EACCES:
        case EINTR:
        case EOVERFLOW:
            return true;
        default:
            return false;
    }
}

namespace {

// Carries a call out until no signal has interrupted it.
template <typename Call>
int uninterrupted(Call call) {
    int result = 0;
    do {
        result = call();
    } while (result != 0 && errno == EINTR);
    return result;
}

class PosixFile final : public File {
  public:
    PosixFile(int fd, std::string path, bool direct)
        : fd_(fd), path_(std::move(path)), direct_(direct) {}
    ~PosixFile() override { ::close(fd_); }

    int fd() const { return fd_; }
    const std::string& path() const override { return path_; }
    bool is_direct() const override { return direct_; }

    uint64_t length() const override {
        struct stat info {};
        if (::fstat(fd_, &info) != 0) fail_io("fstat", path_);
        return static_cast<uint64_t>(info.st_size);
    }

    size_t read_at(uint64_t offset, std::span<uint8_t> to) override {
        size_t done = 0;
        while (done < to.size()) {
            const ssize_t n =
                ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail_io("read", path_);
            if (n == 0) break;
            done += static_cast<size_t>(n);
        }
        return done;
    }

    void write_at(uint64_t offset, std::span<const uint8_t> bytes) override {
        while (!bytes.empty()) {
            const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail_io("write", path_);
            offset += static_cast<uint64_t>(n);
            bytes = bytes.subspan(static_cast<size_t>(n));
        }
    }

    uint64_t position() override {
        const off_t at = ::lseek(fd_, 0, SEEK_CUR);
        if (at < 0) fail_io("lseek", path_);
        return static_cast<uint64_t>(at);
    }
    void seek(uint64_t offset) override {
        if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) fail_io("lseek", path_);
    }
    size_t write_some(std::span<const uint8_t> bytes) override {
        for (;;) {
            const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
            if (n >= 0) return static_cast<size_t>(n);
            if (errno != EINTR) fail_io("write", path_);
        }
    }

    void sync() override {
        if (uninterrupted([&] { return ::fsync(fd_); }) != 0) fail_io("fsync", path_);
    }
    void sync_data() override {
        if (uninterrupted([&] { return ::fdatasync(fd_); }) != 0) fail_io("fdatasync", path_);
    }
    void truncate(uint64_t length) override {
        const auto bytes = static_cast<off_t>(length);
        if (uninterrupted([&] { return ::ftruncate(fd_, bytes); }) != 0) fail_io("truncate", path_);
    }
    void allocate(uint64_t length) override {
        int error = 0;
        do {
            error = ::posix_fallocate(fd_, 0, static_cast<off_t>(length));
        } while (error == EINTR);
        if (error == 0) return;
        errno = error;
        fail_io("allocation", path_);
    }
    void drop_cache(uint64_t offset, uint64_t bytes) override {
        ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                        POSIX_FADV_DONTNEED);
    }
    bool try_lock() override {
        if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno == EWOULDBLOCK) return false;
        fail_io("flock", path_);
    }

  private:
    const int fd_;
    const std::string path_;
    const bool direct_;
};

class PosixMapping final : public Mapping {
  public:
    PosixMapping(const PosixFile& file, MapKind kind, uint64_t size)
        : path_(file.path()),
          flags_(kind == MapKind::shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE),
          fd_(::dup(file.fd())),
          size_(size) {
        if (fd_ >= 0 && base::is_spare_descriptor(fd_)) {
            ::close(fd_);
            errno = EMFILE;
            fail_io("dup", path_);
        }
        if (fd_ < 0) fail_io("dup", path_);
        void* p = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags_, fd_, 0);
        if (p == MAP_FAILED) {
            const int number = errno;
            ::close(fd_);
            errno = number;
            fail_io("mmap", path_);
        }
        data_ = static_cast<uint8_t*>(p);
    }
    ~PosixMapping() override {
        ::munmap(data_, size_);
        ::close(fd_);
    }

    uint8_t* data() const override { return data_; }
    uint64_t size() const override { return size_; }

    void sync(bool wait) override {
        if (::msync(data_, size_, wait ? MS_SYNC : MS_ASYNC) != 0) fail_io("msync", path_);
    }
    void write_part(uint64_t offset, uint64_t length) override {
        constexpr unsigned kWhole =
            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
        const auto at = static_cast<off64_t>(offset);
        const auto bytes = static_cast<off64_t>(length);
        if (uninterrupted([&] { return ::sync_file_range(fd_, at, bytes, kWhole); }) != 0)
            fail_io("sync_file_range", path_);
    }
    void remap() override {
        void* p = ::mmap(data_, size_, PROT_READ | PROT_WRITE, flags_ | MAP_FIXED, fd_, 0);
        if (p != data_) fail_io("remap", path_);
        if (random_) expect_random_access();
    }

    // Hints may be refused.
    void expect_random_access() override {
        random_ = true;
        ::madvise(data_, size_, MADV_RANDOM);
    }
    void read_ahead(uint64_t offset, uint64_t bytes) override {
        // For one call the system reads no more than the device takes at once, and nothing that is
        // there: so each call asks for all that is left.
        constexpr uint64_t kTakenAtOnce = 128 << 10;
        static const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
        const uint64_t end = offset + bytes;
        for (uint64_t at = offset - offset % page_bytes; at < end; at += kTakenAtOnce)
            ::madvise(data_ + at, end - at, MADV_WILLNEED);
    }

  private:
    const std::string path_;
    const int flags_;
    const int fd_;
    const uint64_t size_;
    uint8_t* data_ = nullptr;
    bool random_ = false;
};

// Whether the next descriptor is one of the last.
bool only_spare_left() {
    const int next = ::open("/", O_PATH | O_CLOEXEC);
    if (next < 0) return true;
    ::close(next);
    return base::is_spare_descriptor(next);
}

int access_flags(const OpenOptions& options) {
    int flags = O_CLOEXEC;
    switch (options.access) {
        case Access::read:
            flags |= O_RDONLY;
            break;
        case Access::write:
            flags |= O_WRONLY;
            break;
        case Access::read_write:
            flags |= O_RDWR;
            break;
    }
    if (options.create) flags |= O_CREAT;
    if (options.fresh) flags |= O_EXCL;
    if (options.truncate) flags |= O_TRUNC;
    return flags;
}

}  // namespace

int open_uninterrupted(const std::function<int()>& open_with) {
    int fd = -1;
    do {
        fd = open_with();
    } while (fd < 0 && errno == EINTR);
    return fd;
}

std::unique_ptr<File> open_posix(const std::string& path, const OpenOptions& options,
                                 const std::function<int(int flags)>& open_with) {
    int flags = access_flags(options);
    const int direct = options.direct ? O_DIRECT : 0;
    if (options.no_atime) flags |= O_NOATIME;
    const auto opened = [&](int with) {
        return open_uninterrupted([&] { return open_with(with); });
    };
    // Before anything is created or cut.
    if (options.leaves_spare && only_spare_left()) {
        errno = EMFILE;
        fail_io("open", path);
    }
    int fd = opened(flags | direct);
    if (fd >= 0 || !(options.direct || options.no_atime)) {
        if (fd < 0) fail_io("open", path);
        return std::make_unique<PosixFile>(fd, path, direct != 0);
    }
    // Some file systems know no O_DIRECT, and O_NOATIME is refused on other people's files.
    fd = opened(flags);
    if (fd < 0) fd = opened(flags & ~O_NOATIME);
    if (fd < 0) fail_io("open", path);
    return std::make_unique<PosixFile>(fd, path, false);
}

std::unique_ptr<Mapping> map_posix(File& file, MapKind kind, uint64_t length) {
    return std::make_unique<PosixMapping>(dynamic_cast<PosixFile&>(file), kind, length);
}

void sync_posix_directory(int descriptor, const std::string& path) {
    if (uninterrupted([&] { return ::fsync(descriptor); }) == 0) return;
    // Some file systems cannot sync a directory and need not.
    if (errno != EINVAL) fail_io("fsync", path);
}

std::vector<std::string> list_posix(int descriptor, const std::string& path) {
    DIR* handle = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
    if (handle == nullptr) {
        const int number = errno;
        if (descriptor >= 0) ::close(descriptor);
        errno = number;
        fail_io("opendir", path);
    }
    std::vector<std::string> names;
    const auto next = [handle] {
        errno = 0;  // an error looks like the end but for this
        return ::readdir(handle);
    };
    const dirent* entry = nullptr;
    while ((entry = next()) != nullptr) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    const int number = errno;
    ::closedir(handle);
    if (number != 0) {
        errno = number;
        fail_io("readdir", path);
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace os
