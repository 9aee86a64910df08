// storage/mmapv1/engine.h - the memory-mapped engine behind storage::Engine.
//
// Start-up, in this order: take the lock file; check storage.bson and the journal folder against the
// options; write the process id; replay the journal; empty _tmp; open every database and finish what
// an older server or a crash left behind (2.4's $freelist, half-built indexes, ancient capped
// layout). shutdown() is the way back: commit, flush, close, remove the journal, empty the lock file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/engine.h"
#include "storage/mmapv1/data_files.h"

namespace mmapv1 {

struct EngineOptions {
    std::string dbpath;
    FilePolicy files;         // directoryperdb, smallfiles, nssize
    bool journaling = true;   // false: nojournal
    bool repair = false;      // allows starting on an unclean lock file without a journal
};

// Throws base::Error when the dbpath cannot be used: held by another process (10310), unclean
// without a journal (12596), journal files present but journaling off (13597), written by another
// engine, a damaged file. The text says what to do.
std::unique_ptr<storage::Engine> open_engine(const EngineOptions& options);

}  // namespace mmapv1
