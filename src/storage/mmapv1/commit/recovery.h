// storage/mmapv1/commit/recovery.h - bringing the data files up to what the journal holds (journal
// spec 4).
//
// Nothing in journal/ is removed before every data file has been synced, and replaying twice does
// no harm; so a crash during recovery is followed by a recovery. A killed process may have written
// sections that it did not sync: the journal is synced before any of it reaches a data file (J10).
// After a sync that failed the system may take pages for clean that the device does not have. Only
// the last section can be such a one, since the process ends there: it is written once more, so
// that the sync means it.
// Every retained section is replayed: the lsn file is reported but not trusted to skip any.
#pragma once

#include <string>
#include <vector>

#include "journal/counters.h"
#include "journal/journal.h"
#include "journal/op_stream.h"
#include "os/file_system.h"
#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

class Recovery {
  public:
    struct Options {
        bool dump = false;       // log every section and operation
        bool scan_only = false;  // apply nothing; run() ends with error 13545
        bool directory_per_db = false;
    };
    Recovery(os::FileSystem& os_files, FileSet& files, journal::Journal& journal,
             journal::Counters& counters, const Options& options)
        : os_files_(os_files),
          files_(files),
          journal_(journal),
          counters_(counters),
          options_(options) {}

    // Replays, syncs, closes all data files, removes the journal files. Start-up thread; no data
    // file is open. Throws base::Error with the journal left as it is.
    void run();

  private:
    void replay_file(const std::string& path, bool is_last);
    void sync_journal();
    void write_last_section_again();
    void apply(const journal::Op& op);
    void apply_write(const journal::Op& op);
    void apply_file_created(const journal::Op& op);
    void apply_drop(const journal::Op& op);
    void flush_and_close();
    void log_op(const journal::Op& op) const;

    os::FileSystem& os_files_;
    FileSet& files_;
    journal::Journal& journal_;
    journal::Counters& counters_;
    const Options options_;
    std::vector<journal::FoundFile> found_;
    bool journal_synced_ = false;
    DurableFile* last_file_ = nullptr;  // the one written to last
};

}  // namespace mmapv1
