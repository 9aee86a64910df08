// storage/mmapv1/salvage/salvage.h - mongod --salvage: all that can be read in a dbpath, written
// where mongorestore finds it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "os/file_system.h"

namespace mmapv1 {

struct SalvageOptions {
    std::string dbpath;
    std::string out;
    bool directory_per_db = false;
};

struct SalvageResult {
    int64_t databases = 0;
    int64_t collections = 0;
    int64_t documents = 0;
    int64_t unread = 0;  // documents that are there and cannot be read
    int64_t damage = 0;  // places where something was wrong
};

// Writes a table, and each damage with its file and offset, to `report`. Nothing in the dbpath is
// changed; a journal is not replayed, and the report says so. Throws base::Error when the dbpath
// cannot be read at all (it does not exist, a server runs on it, another engine wrote it, no
// database is in it), or when `out` cannot be written: it lies in the dbpath, it is not empty.
SalvageResult salvage(const SalvageOptions& options, std::ostream& report);
// Salvages for tests: `dbpath_files` is asked about the dbpath, `out_files` about `out`.
SalvageResult salvage(const SalvageOptions& options, os::FileSystem& dbpath_files,
                      os::FileSystem& out_files, std::ostream& report);

// The command that does it, as a shell takes it.
std::string salvage_command(const std::string& dbpath, bool directory_per_db);

// Takes the lock of a dbpath for reading, so that no server starts on it; null where there is no
// lock file. Throws base::Error when there is no such directory or a server runs on it.
std::unique_ptr<os::File> lock_for_reading(os::FileSystem& files, const std::string& dbpath,
                                           const std::string& what_to_do);

}  // namespace mmapv1
