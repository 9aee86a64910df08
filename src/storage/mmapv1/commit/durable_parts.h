// storage/mmapv1/commit/durable_parts.h - what class Durable is made of, put together; only its own
// files include this.
#pragma once

#include <thread>

#include "base/log.h"
#include "journal/commit_schedule.h"
#include "storage/mmapv1/commit/data_file_sync.h"
#include "storage/mmapv1/commit/durable_options.h"
#include "storage/mmapv1/commit/group_commit.h"
#include "storage/mmapv1/commit/journaled_views.h"
#include "storage/mmapv1/commit/write_admission.h"

namespace mmapv1 {

struct DurableParts {
    // `durable` is what they are the parts of.
    DurableParts(const DurableOptions& o, storage::LockManager& l, os::FileSystem& f, os::Clock& c,
                 storage::Durability& durable);
    bool over_limit() const { return collector.uncommitted_bytes() >= WriteCollector::kLimitBytes; }

    // A commit by a holder of w, at a point where its data is consistent. Every other holder of w
    // has to come to such a point, or to its end, before. What the thread has announced stays so.
    void commit_as_writer();
    void run_journal_thread();
    void stop_threads();

    const DurableOptions options;
    storage::LockManager& locks;
    os::FileSystem& os_files;
    os::Clock& clock;

    journal::Counters counters;
    journal::Journal journal;
    FileSet files;
    CommitGate gate;
    WriteCollector collector{gate};
    journal::CommitSchedule schedule;
    CommitNotifier notifier{counters, schedule};
    GroupCommit commit;
    JournaledViews views;
    DataFileSync data_file_sync;
    WriteAdmission admission;
    std::thread journal_thread;
    bool shut_down = false;
};

}  // namespace mmapv1
