// storage/mmapv1/mapping/dbpath_lock.h - mongod.lock: one server per dbpath, and "the last one did
// not stop cleanly" (journal spec 4.1, mmapv1 spec 1.2).
#pragma once

#include <memory>
#include <string>

#include "os/file_system.h"

namespace mmapv1 {

class DbpathLock {
  public:
    // Opens and locks the file. Throws base::Error 10296 (no dbpath), 10309 (cannot open), 10310
    // (another process has it).
    DbpathLock(os::FileSystem& files, const std::string& dbpath);

    // Whether the file was not empty: the previous process did not end cleanly.
    bool unclean() const { return unclean_; }
    // Throws 12596 or 13597 where starting would lose data (the table of journal spec 4.1). The
    // file keeps its content. Opening for a repair is only possible without a journal to replay.
    void check(bool journaling, bool repair);
    // Writes the process id: from now on a crash shows.
    void mark_running();
    // Empties the file: everything is on disk.
    void clear();

  private:
    os::FileSystem& files_;
    std::string dbpath_;
    std::unique_ptr<os::File> file_;
    bool unclean_ = false;
};

}  // namespace mmapv1
