#include "os/testing/failing_file_system.h"

#include <algorithm>

#include "os/mapping.h"

namespace os {

using Kind = FailingFileSystem::Kind;

class FailingFile final : public File {
  public:
    FailingFile(FailingFileSystem& owner, std::unique_ptr<File> under)
        : owner_(owner), under_(std::move(under)) {}

    File& under() { return *under_; }
    const std::string& path() const override { return under_->path(); }
    bool is_direct() const override { return under_->is_direct(); }
    uint64_t length() const override {
        owner_.count(Kind::look, "fstat", path());
        return under_->length();
    }
    size_t read_at(uint64_t offset, std::span<uint8_t> to) override {
        owner_.count(Kind::read, "read", path());
        owner_.check_readable(path(), offset, to.size());
        return under_->read_at(offset, to);
    }
    void write_at(uint64_t offset, std::span<const uint8_t> bytes) override {
        owner_.count(Kind::write_at, "write", path());
        under_->write_at(offset, bytes);
    }
    uint64_t position() override { return under_->position(); }
    void seek(uint64_t offset) override { under_->seek(offset); }
    size_t write_some(std::span<const uint8_t> bytes) override {
        const bool is_short = owner_.count(Kind::write, "write", path());
        return under_->write_some(is_short ? bytes.first(bytes.size() / 2) : bytes);
    }
    void sync() override {
        owner_.count(Kind::sync, "fsync", path());
        if (!owner_.skip_syncs_) under_->sync();
    }
    void sync_data() override {
        owner_.count(Kind::sync, "fdatasync", path());
        if (!owner_.skip_syncs_) under_->sync_data();
    }
    void truncate(uint64_t length) override {
        owner_.count(Kind::truncate, "truncate", path());
        under_->truncate(length);
    }
    void allocate(uint64_t length) override {
        owner_.count(Kind::allocate, "allocation", path());
        if (!owner_.skip_syncs_) return under_->allocate(length);
        if (under_->length() < length) under_->truncate(length);
    }
    void drop_cache(uint64_t offset, uint64_t bytes) override {
        if (!owner_.skip_syncs_) under_->drop_cache(offset, bytes);
    }
    bool try_lock() override { return under_->try_lock(); }

  private:
    FailingFileSystem& owner_;
    const std::unique_ptr<File> under_;
};

class FailingMapping final : public Mapping {
  public:
    FailingMapping(FailingFileSystem& owner, std::string path, std::unique_ptr<Mapping> under)
        : owner_(owner), path_(std::move(path)), under_(std::move(under)) {}

    uint8_t* data() const override { return under_->data(); }
    uint64_t size() const override { return under_->size(); }
    void store(uint64_t offset, std::span<const uint8_t> bytes) override {
        under_->store(offset, bytes);
    }
    void sync(bool wait) override {
        owner_.count(Kind::sync, "msync", path_);
        if (!owner_.skip_syncs_) under_->sync(wait);
    }
    void remap() override {
        owner_.count(Kind::map, "remap", path_);
        under_->remap();
    }
    void expect_random_access() override { under_->expect_random_access(); }
    void read_ahead(uint64_t offset, uint64_t bytes) override { under_->read_ahead(offset, bytes); }

  private:
    FailingFileSystem& owner_;
    const std::string path_;
    const std::unique_ptr<Mapping> under_;
};

void FailingFileSystem::arm(int64_t n, std::errc reason) {
    const std::lock_guard lock(mutex_);
    fails_at_ = n;
    reason_ = reason;
    calls_.clear();
    listed_.clear();
    failed_call_.clear();
    has_failed_ = false;
}

void FailingFileSystem::refuse(const std::string& path_end, std::errc reason) {
    const std::lock_guard lock(mutex_);
    refused_end_ = path_end;
    refused_reason_ = reason;
}

std::vector<Kind> FailingFileSystem::calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
}

int FailingFileSystem::times_listed(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = listed_.find(path);
    return found == listed_.end() ? 0 : found->second;
}

std::string FailingFileSystem::failed_call() const {
    const std::lock_guard lock(mutex_);
    return failed_call_;
}

bool FailingFileSystem::count(Kind kind, const char* call, const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (!refused_end_.empty() && path.ends_with(refused_end_))
        throw IoError(std::string(call) + " of " + path + " failed",
                      std::make_error_code(refused_reason_));
    calls_.push_back(kind);
    if (static_cast<int64_t>(calls_.size()) != fails_at_) return false;
    has_failed_ = true;
    failed_call_ = std::string(call) + " of " + path;
    if (reason_ == kShort) return true;
    throw IoError(failed_call_ + " failed", std::make_error_code(reason_));
}

void FailingFileSystem::check_readable(const std::string& path, uint64_t offset,
                                       uint64_t bytes) const {
    constexpr uint64_t kPage = 4096;
    const auto pages = unreadable_.find(base_name(path));
    if (pages == unreadable_.end()) return;
    for (const uint64_t page : pages->second)
        if (offset < page + kPage && page < offset + bytes)
            throw IoError("read of " + path + " failed", std::make_error_code(std::errc::io_error));
}

std::vector<std::errc> FailingFileSystem::reasons(Kind kind) {
    using std::errc;
    switch (kind) {
        case Kind::open:
            return {errc::too_many_files_open, errc::io_error, errc::not_enough_memory};
        case Kind::create:
            return {errc::no_space_on_device, errc::too_many_files_open, errc::io_error,
                    errc::not_enough_memory};
        case Kind::write:
            return {errc::no_space_on_device, errc::io_error, kShort};
        case Kind::write_at:
        case Kind::allocate:
        case Kind::names:
            return {errc::no_space_on_device, errc::io_error};
        case Kind::sync:
            return {errc::io_error, errc::no_space_on_device};
        case Kind::sync_names:
        case Kind::look:
            return {errc::io_error, errc::too_many_files_open};
        case Kind::map:
            return {errc::not_enough_memory, errc::too_many_files_open};
        case Kind::read:
        case Kind::truncate:
            return {errc::io_error};
    }
    return {};
}

std::unique_ptr<File> FailingFileSystem::open(const std::string& path, const OpenOptions& options) {
    count(options.create ? Kind::create : Kind::open, "open", path);
    OpenOptions used = options;
    if (skip_syncs_) used.direct = false;
    return std::make_unique<FailingFile>(*this, under_.open(path, used));
}

std::unique_ptr<Mapping> FailingFileSystem::map(File& file, MapKind kind, uint64_t length) {
    count(Kind::map, "mmap", file.path());
    return std::make_unique<FailingMapping>(
        *this, file.path(), under_.map(dynamic_cast<FailingFile&>(file).under(), kind, length));
}

bool FailingFileSystem::exists(const std::string& path) {
    count(Kind::look, "stat", path);
    return under_.exists(path);
}

bool FailingFileSystem::is_directory(const std::string& path) {
    count(Kind::look, "stat", path);
    return under_.is_directory(path);
}

bool FailingFileSystem::is_link(const std::string& path) {
    count(Kind::look, "stat", path);
    return under_.is_link(path);
}

uint64_t FailingFileSystem::file_length(const std::string& path) {
    count(Kind::look, "stat", path);
    return under_.file_length(path);
}

std::vector<std::string> FailingFileSystem::list(const std::string& directory) {
    count(Kind::look, "opendir", directory);
    {
        const std::lock_guard lock(mutex_);
        ++listed_[directory];
    }
    return under_.list(directory);
}

void FailingFileSystem::create_directory(const std::string& path) {
    count(Kind::names, "mkdir", path);
    under_.create_directory(path);
}

void FailingFileSystem::remove(const std::string& path) {
    count(Kind::names, "remove", path);
    under_.remove(path);
}

void FailingFileSystem::rename(const std::string& from, const std::string& to) {
    count(Kind::names, "rename", from);
    under_.rename(from, to);
}

void FailingFileSystem::sync_directory(const std::string& path) {
    count(Kind::sync_names, "fsync", path);
    if (!skip_syncs_) under_.sync_directory(path);
}

}  // namespace os
