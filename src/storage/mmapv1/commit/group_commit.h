// storage/mmapv1/commit/group_commit.h - one commit for all writers: from declared intents to a
// synced journal section to the data files (journal spec 1.3, 1.4).
//
//                    usual path        full path          early commit
//   who              journal thread    journal thread     an operation's thread
//   lock             R                 W -> R             its own R, W or X
//   PREPLOGBUFFER    R                 R                  held     declared bytes are copied
//                    R released
//   WRITETOJOURNAL   -                 R                  held     section written and synced
//   waiters told     -                 R                  held     the writes are durable
//   WRITETODATAFILES -                 R                  held     copied into the shared views
//   REMAPPRIVATEVIEW never             R -> W             if W/X   private copies thrown away
//
// The commit gate is held from PREPLOGBUFFER to WRITETODATAFILES in all three. Lock order: commit
// hold, global lock, commit gate, file-list lock.
//
// A commit that fails ends the process: nothing after a failed journal write may be acknowledged.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

#include "journal/counters.h"
#include "journal/journal.h"
#include "journal/op_stream.h"
#include "journal/section.h"
#include "os/clock.h"
#include "storage/lock.h"
#include "storage/mmapv1/commit/commit_notifier.h"
#include "storage/mmapv1/commit/remap.h"
#include "storage/mmapv1/commit/write_collector.h"
#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

// Keeps the journal thread out, for fsync with lock. Taken and left by any thread.
class CommitHold {
  public:
    void acquire();
    void release();

  private:
    std::mutex mutex_;
    std::condition_variable free_;
    bool held_ = false;
};

class GroupCommit {
  public:
    struct Options {
        bool always_remap = false;
        // Compares both views of every file before a commit acknowledges anything and after a full
        // path: a byte that changed without a declared intent ends the process.
        bool paranoid = false;
    };
    GroupCommit(storage::LockManager& locks, FileSet& files, WriteCollector& collector,
                CommitGate& gate, CommitNotifier& notifier, journal::Journal& journal,
                journal::Counters& counters, os::Clock& clock, const Options& options);

    // One cycle of the journal thread, which holds no lock.
    void run_cycle();
    // A commit in the caller's lock: global R, W or X. Its bytes are in the shared views when this
    // returns.
    void commit_in_lock();

    CommitHold& hold() { return hold_; }

    // True while this thread is inside run_cycle: it must not start commits of its own.
    static bool in_cycle();

  private:
    enum class Path { usual, full, early };
    static constexpr int kFullPathEvery = 10;

    void commit(Path path);
    void prepare_ops(const CommitJob& job);
    void apply_ops();
    void remap();
    void compare_views(std::vector<WriteIntent> declared);

    storage::LockManager& locks_;
    FileSet& files_;
    WriteCollector& collector_;
    CommitGate& gate_;
    CommitNotifier& notifier_;
    journal::Journal& journal_;
    journal::Counters& counters_;
    os::Clock& clock_;
    const Options options_;
    CommitHold hold_;
    int cycles_ = 0;  // journal thread only

    // Guarded by the commit gate:
    journal::OpBuffer ops_;
    journal::SectionWriter sections_;
    std::vector<WriteIntent> intents_;
    // Guarded by the commit gate where it is fed, by global W or X where it is used.
    Remapper remapper_;
};

}  // namespace mmapv1
