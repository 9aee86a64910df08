// os/testing/directory.h - for tests: a fresh directory on the real disk, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>

#include "os/file_system.h"
#include "os/process.h"

namespace os {

class TestDirectory {
  public:
    TestDirectory() {
        static std::atomic<int> count{0};
        path_ = join(testing::TempDir(),
                     "unit-" + std::to_string(process_id()) + "-" + std::to_string(++count));
        real_file_system().remove_all(path_);
        real_file_system().create_directory(path_);
    }
    ~TestDirectory() { real_file_system().remove_all(path_); }
    TestDirectory(const TestDirectory&) = delete;
    TestDirectory& operator=(const TestDirectory&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return join(path_, name); }

    // Bytes of a file in it.
    std::string read(const std::string& file, int64_t offset, size_t bytes) const {
        std::ifstream in(*this / file, std::ios::binary);
        in.seekg(offset);
        std::string text(bytes, '\0');
        in.read(text.data(), static_cast<std::streamsize>(bytes));
        return text;
    }
    void write(const std::string& file, int64_t offset, const std::string& bytes) const {
        std::fstream out(*this / file, std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(offset);
        out << bytes;
    }

  private:
    std::string path_;
};

}  // namespace os
