// os/windows/file.h - an open file of Windows.
#pragma once

#include <windows.h>

#include "os/file.h"
#include "os/flush_rule.h"

namespace os {

// A path as Windows wants it: UTF-16, and in the form without a limit of 260 characters where it is
// long.
std::wstring windows_path(const std::string& path);

class WindowsFile final : public File {
  public:
    // Throws IoError.
    WindowsFile(const std::string& path, const OpenOptions& options);
    ~WindowsFile() override;

    HANDLE handle() const { return handle_; }
    const std::string& path() const override { return path_; }
    bool is_direct() const override { return options_.direct; }
    uint64_t length() const override;
    size_t read_at(uint64_t offset, std::span<uint8_t> to) override;
    void write_at(uint64_t offset, std::span<const uint8_t> bytes) override;
    uint64_t position() override { return position_; }
    void seek(uint64_t offset) override { position_ = offset; }
    size_t write_some(std::span<const uint8_t> bytes) override;
    void sync() override;
    void sync_data() override;
    void truncate(uint64_t length) override;
    void allocate(uint64_t length) override;
    void drop_cache(uint64_t, uint64_t) override {}  // there is no such call
    bool try_lock() override;

  private:
    size_t write_piece(uint64_t offset, std::span<const uint8_t> bytes);
    void write_end_back();

    const std::string path_;
    const OpenOptions options_;
    HANDLE handle_ = INVALID_HANDLE_VALUE;
    // Not the handle's own position, which calls with an offset move too.
    uint64_t position_ = 0;
    FlushRule rule_;  // for unbuffered writes without write-through
};

}  // namespace os
