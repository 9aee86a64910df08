// storage/mmapv1/commit/testing/server.h - the storage core of one server over a real directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "storage/mmapv1/commit/durable.h"

namespace mmapv1 {

inline constexpr int64_t kFileBytes = 1 << 20;

// One server's storage core over a directory.
struct Server {
    explicit Server(const std::string& dbpath, int options = kNoCheckSpace | kParanoid)
        : durable({.dbpath = dbpath,
                   .commit_interval = 2000,
                   .journal_file_bytes = journal::kSmallLimitBytes,
                   .journal_options = options,
                   .no_prealloc_journal = true},
                  locks) {}
    void start() {
        durable.recover();
        durable.start();
    }
    MappedFile& create(const std::string& path, int64_t bytes = kFileBytes) {
        const storage::DatabaseLock lock(locks, "test", true);
        MappedFile& file = durable.views().create(path, bytes);
        durable.views().note_created(file);
        durable.views().declare(file.view(), 5);
        return file;
    }
    void write(MappedFile& file, size_t offset, std::string_view text) {
        const storage::DatabaseLock lock(locks, "test", true);
        durable.views().write(file.view() + offset, text.data(), text.size());
    }

    storage::LockManager locks;
    Durable durable;
};

inline std::string text_at(const MappedFile& file, size_t offset, size_t size) {
    return {reinterpret_cast<const char*>(file.view()) + offset, size};
}

// A copy of the directory as a killed process leaves it.
inline void copy_directory(const std::string& from, const std::string& to) {
    std::filesystem::copy(from, to,
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
}

}  // namespace mmapv1
