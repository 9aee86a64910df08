// storage/mmapv1/commit/durable_options.h - the options of the journal of an MMAPv1 engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "journal/commit_schedule.h"
#include "journal/debug_flags.h"
#include "journal/journal.h"
#include "storage/mmapv1/commit/data_file_writer.h"

namespace mmapv1 {

using enum journal::DebugFlag;

struct DurableOptions {
    std::string dbpath;
    bool journal = true;
    journal::CommitInterval commit_interval = {};
    // A journal file with so many is left for the next one.
    uint64_t journal_file_bytes = journal::kLimitBytes;
    int journal_options = 0;           // journal::DebugFlag bits
    bool no_prealloc_journal = false;  // --nopreallocj
    double sync_delay_seconds = 60;    // 0: data files are never flushed in the background
    bool directory_per_db = false;
    int64_t memory_bytes = 0;  // that the process may have; 0: as much as it needs
    std::function<std::unique_ptr<DataFileWriter>(const DataFileWriter::Parts&)> make_writer =
        make_data_file_writer;
};

}  // namespace mmapv1
