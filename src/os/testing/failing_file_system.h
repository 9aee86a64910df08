// os/testing/failing_file_system.h - for tests: another file system, of which one call fails, or
// that has bad sectors.
//
// Every call that a system can refuse is counted, questions included, from whatever thread. Only
// the interface is distinguished here: what a call retries below it (EINTR) never shows above.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "os/file_system.h"

namespace os {

class FailingFileSystem final : public FileSystem {
  public:
    // The kind of a call, as far as that decides how it may fail.
    enum class Kind {
        open,
        create,  // an open that may make the file
        read,
        write,  // at the position; it may also be short
        write_at,
        sync,  // of a file or a shared mapping
        truncate,
        allocate,
        look,        // length, exists, list
        names,       // a directory made, a name removed or changed
        sync_names,  // of a directory
        map,
    };
    // Failing in this way, a write writes a part; nothing else can.
    static constexpr std::errc kShort{};

    explicit FailingFileSystem(FileSystem& under) : under_(under) {}

    // Nothing is synced and no file past the page cache: for tests in which no power is cut.
    void skip_syncs() { skip_syncs_ = true; }

    // Counts calls anew from now on; the n-th one, from 1, fails. 0: none does.
    void arm(int64_t n, std::errc reason = std::errc::io_error);
    void disarm() { arm(0); }
    bool has_failed() const { return has_failed_; }
    // Returns the calls since arm(), in their order.
    std::vector<Kind> calls() const;
    // Returns how often a directory was listed since arm().
    int times_listed(const std::string& path) const;
    // The call that failed, for messages.
    std::string failed_call() const;

    // Every call for a path that ends so fails from now on, instead of the one given before;
    // nothing of what is below it. Empty: none.
    void refuse(const std::string& path_end, std::errc reason);

    // Pages of 4096 bytes that the device does not give, by the name of their file.
    void set_unreadable(std::map<std::string, std::vector<uint64_t>> pages) {
        unreadable_ = std::move(pages);
    }

    // How calls of a kind fail.
    static std::vector<std::errc> reasons(Kind kind);

    std::unique_ptr<File> open(const std::string& path, const OpenOptions& options) override;
    std::unique_ptr<Mapping> map(File& file, MapKind kind, uint64_t length) override;
    bool has_write_through() const override { return under_.has_write_through(); }
    bool exists(const std::string& path) override;
    bool is_directory(const std::string& path) override;
    bool is_link(const std::string& path) override;
    uint64_t file_length(const std::string& path) override;
    std::vector<std::string> list(const std::string& directory) override;
    void create_directory(const std::string& path) override;
    void remove(const std::string& path) override;
    void rename(const std::string& from, const std::string& to) override;
    void sync_directory(const std::string& path) override;
    uint64_t free_bytes(const std::string& path) override { return under_.free_bytes(path); }
    std::optional<uint64_t> device_of(const std::string& path) override {
        return under_.device_of(path);
    }

  private:
    friend class FailingFile;
    friend class FailingMapping;

    // Counts a call. Throws IoError if it is the one to fail; true if it is to be short.
    bool count(Kind kind, const char* call, const std::string& path);

    FileSystem& under_;
    void check_readable(const std::string& path, uint64_t offset, uint64_t bytes) const;

    bool skip_syncs_ = false;
    std::map<std::string, std::vector<uint64_t>> unreadable_;
    std::atomic<bool> has_failed_{false};
    mutable std::mutex mutex_;
    // Guarded by mutex_:
    int64_t fails_at_ = 0;
    std::errc reason_{};
    std::vector<Kind> calls_;
    std::map<std::string, int> listed_;
    std::string failed_call_;
    std::string refused_end_;
    std::errc refused_reason_{};
};

}  // namespace os
