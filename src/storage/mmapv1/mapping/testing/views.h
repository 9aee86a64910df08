// storage/mmapv1/mapping/testing/views.h - views over anonymous memory for unit tests.
// verify_declared() proves that every byte that changed since the last call had been declared.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/mmapv1/mapping/views.h"

namespace mmapv1 {

class TestFile final : public MappedFile {
  public:
    TestFile(std::string path, int64_t length)
        : path_(std::move(path)), length_(length), view_(map(length)), shadow_(map(length)) {}
    ~TestFile() override {
        munmap(view_, static_cast<size_t>(length_));
        munmap(shadow_, static_cast<size_t>(length_));
    }
    TestFile(const TestFile&) = delete;
    TestFile& operator=(const TestFile&) = delete;

    uint8_t* view() const override { return view_; }
    int64_t length() const override { return length_; }
    const std::string& path() const override { return path_; }
    bool wants_read_ahead() const override { return asked != nullptr; }
    void read_ahead(int64_t offset, int64_t bytes) override { asked(path_, offset, bytes); }
    uint8_t* shadow() const { return shadow_; }

    // Called by read_ahead(), which is not called without.
    std::function<void(const std::string&, int64_t, int64_t)> asked;

  private:
    static uint8_t* map(int64_t length) {
        return static_cast<uint8_t*>(mmap(nullptr, static_cast<size_t>(length),
                                          PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    }
    std::string path_;
    int64_t length_;
    uint8_t* view_;
    uint8_t* shadow_;
};

class TestViews final : public Views {
  public:
    TestViews() = default;
    // Copies what a process that was killed now leaves in its files without a journal.
    TestViews(const TestViews& other) {
        for (const auto& [path, file] : other.files_) {
            auto copy = std::make_unique<TestFile>(path, file->length());
            copy_used(*file, *copy);
            files_.emplace(path, std::move(copy));
        }
    }
    TestViews& operator=(const TestViews&) = delete;

    // Called by declare(), so that the stores before it are done and those that it announces not.
    std::function<void()> before_store;
    // Called with what is to be read ahead of the files that are made from then on.
    std::function<void(const std::string& path, int64_t offset, int64_t bytes)> asked;

    bool exists(const std::string& path) const override { return files_.contains(path); }
    int64_t unused_bytes(const std::string& path) const override {
        const TestFile& file = *files_.at(path);
        return *reinterpret_cast<const int32_t*>(file.view()) == 0 ? file.length() : 0;
    }
    void remove(const std::string& path) override { files_.erase(path); }
    MappedFile& open(const std::string& path) override { return *files_.at(path); }
    MappedFile& create(const std::string& path, int64_t length) override {
        created_++;
        auto file = std::make_unique<TestFile>(path, length);
        file->asked = asked;
        return *(files_[path] = std::move(file));
    }
    void note_created(const MappedFile&) override { created_--; }
    void close(MappedFile&) override {}  // the content stays, like that of a file
    void declare(void* p, size_t bytes) override {
        if (before_store) before_store();
        intents_++;
        declared_.emplace_back(static_cast<uint8_t*>(p), bytes);
    }

    // Copies what was declared into the shadow, as a commit does; then both must be equal.
    void verify_declared() {
        EXPECT_EQ(created_, 0) << "a created file was not noted";
        for (const auto& [p, bytes] : declared_)
            for (const auto& [path, file] : files_)
                if (p >= file->view() && p < file->view() + file->length())
                    std::copy(p, p + bytes, file->shadow() + (p - file->view()));
        declared_.clear();
        for (const auto& [path, file] : files_)
            compare(*file);
    }
    int64_t intents() const { return intents_; }

  private:
    // Most of a file are untouched zeros.
    static void copy_used(const TestFile& from, const TestFile& to) {
        constexpr int64_t kPage = 4096;
        static const uint8_t kZeros[kPage] = {};
        for (int64_t at = 0; at < from.length(); at += kPage) {
            const auto bytes = static_cast<size_t>(std::min(kPage, from.length() - at));
            if (std::memcmp(from.view() + at, kZeros, bytes) == 0) continue;
            std::memcpy(to.view() + at, from.view() + at, bytes);
            std::memcpy(to.shadow() + at, from.view() + at, bytes);
        }
    }
    static void compare(const TestFile& file) {
        const auto length = static_cast<size_t>(file.length());
        if (std::memcmp(file.view(), file.shadow(), length) == 0) return;
        const auto at = std::mismatch(file.view(), file.view() + length, file.shadow()).first;
        ADD_FAILURE() << file.path() << ": undeclared write at offset " << at - file.view();
        std::memcpy(file.shadow(), file.view(), length);
    }
    std::map<std::string, std::unique_ptr<TestFile>> files_;
    std::vector<std::pair<uint8_t*, size_t>> declared_;
    int64_t created_ = 0;
    int64_t intents_ = 0;
};

}  // namespace mmapv1
