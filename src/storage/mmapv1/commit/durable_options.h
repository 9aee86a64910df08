// storage/mmapv1/commit/durable_options.h - the options of the journal of an MMAPv1 engine.
#pragma once

#include <cstdint>
#include <string>

#include "journal/commit_schedule.h"
#include "journal/debug_flags.h"

namespace mmapv1 {

using enum journal::DebugFlag;

struct DurableOptions {
    std::string dbpath;
    bool journal = true;
    journal::CommitInterval commit_interval = {};
    bool small_files = false;          // journal files of 128 MB instead of 1 GB
    uint64_t journal_file_bytes = 0;   // their size in tests; 0: as small_files says
    int journal_options = 0;           // journal::DebugFlag bits
    bool no_prealloc_journal = false;  // --nopreallocj
    double sync_delay_seconds = 60;    // 0: data files are never flushed in the background
    bool directory_per_db = false;
};

}  // namespace mmapv1
