// tools/dbpath_check.h - checks a whole dbpath of MMAPv1 files without a server (mmapv1 spec 8.3).
//
// Nothing in the dbpath is changed: files are mapped privately. They are read through before, so
// that a sector that the device does not give is a finding. The server must be stopped.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "os/file_system.h"

namespace tools {

struct DbpathCheckOptions {
    std::string dbpath;
    bool directory_per_db = false;
    std::vector<std::string> databases;  // empty: all
    bool compare_keys =
        true;                 // derive the keys of every document and compare them with the indexes
    bool read_first = true;   // without it, an unreadable sector ends the process by a signal
    bool show_leaks = false;  // list space without an owner, which is harmless
    bool quiet = false;       // only problems and the last line
};

struct DbpathCheckResult {
    int64_t databases = 0;
    int64_t collections = 0;
    int64_t documents = 0;
    int64_t indexes = 0;
    int64_t errors = 0;
    int64_t leaks = 0;
};

// Writes a table and the findings to `out`. Throws base::Error when the dbpath cannot be examined:
// it does not exist, a server runs on it, another engine wrote it.
DbpathCheckResult check_dbpath(os::FileSystem& files, const DbpathCheckOptions& options,
                               std::ostream& out);

}  // namespace tools
