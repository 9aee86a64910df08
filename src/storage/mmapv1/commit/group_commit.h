// storage/mmapv1/commit/group_commit.h - one commit for all writers: from declared intents to a
// synced journal section to the data files (journal spec 1.3, 1.4).
//
// THE WAY OF A WRITE
//
//   declare, then store  the private view of the data file, a copy of its own that no file shows.
//                        The intent (address, length) goes into the thread's spool
//   release the lock     spool -> job, before the global lock is given up (write_collector.h)
//   PREPLOGBUFFER        the job is taken; the bytes at its intents are copied as they are now
//   WRITETOJOURNAL       the copy becomes a section, is written and synced (journal/journal.h)
//   waiters notified     those that registered before this commit began
//   WRITETODATAFILES     the copy goes into the shared views, from where the system may write it to
//                        the data files whenever it likes
//   REMAPPRIVATEVIEW     now and then: private copies are dropped, the view shows the file again
//
// WHO HOLDS WHAT WHEN
//
//                      usual path       full path        early commit
//   who                journal thread   journal thread   an operation's thread
//   when               9 of 10 cycles   every 10th, or   commit_now(), admission:
//                                       much is private  much uncommitted, fsync, shutdown
//   commit hold        +                +                -
//   global lock        R                W, then R        its own R, W or X
//   ------------------------------------------------------------------------------------
//   commit latch       taken            taken            taken
//   PREPLOGBUFFER      R                R                held
//                      R given up       |                |
//   WRITETOJOURNAL     -                R                held
//   waiters notified   -                R                held
//   WRITETODATAFILES   -                R                held
//   commit latch       released         released         released
//   REMAPPRIVATEVIEW   never            W, the latch     W or X: the latch. R: never
//
//   Without anything to write a commit ends after PREPLOGBUFFER: it notifies the waiters.
//
//   During a commit readers (r) go on, except under W and X. Writers (w) wait for R, W and X to
//   begin; on the usual path they go on from PREPLOGBUFFER, but one that releases its lock, or has
//   declared more than its spool holds, waits for the latch until WRITETODATAFILES is over (D5).
//
//   So it is with every option at its default. What a patch changes behind its option stands there.
//
// LOCK ORDER
//
//   commit hold > global lock > database lock > commit latch > one of: file-list lock (FileSet),
//   job mutex (WriteCollector), notifier mutex (CommitNotifier), flush mutex (journal::Journal)
//
//   The last four are never held together. A waiter's callback runs with the latch held, and with
//   the global lock on the full path and in an early commit, but with none of the four.
//
// SAFETY RULES, continued from journal/journal.h, each with the tests that hold it
//
//   J10 Only a commit (and recovery) stores into a shared view, and only what its section holds,
//       after that is on the device. A data file never shows what the journal does not have.
//       [Durable.NothingReachesTheDataFileBeforeItsCommit,
//       GroupCommitTest.TheDataFileChangesAfterTheSync, CrashStates.EveryStateRecoversToACommit,
//       RecoveryOrder.AJournalThatWasPutThereIsSyncedBeforeItIsReplayed,
//       RecoveryOrder.ACommitWhoseSyncFailedIsWrittenAgainBeforeItIsReplayed,
//       CrashStates.WhatAKilledProcessDidNotSyncIsSyncedBeforeItIsReplayed]
//   J11 The bytes are copied under R, W or X, so while no write operation is under way: a section
//       holds whole ones, or, of a bulk one that commits early, whole documents.
//       [GroupCommitTest.ACommitWaitsForTheOperationThatIsUnderWay, LockTest.CompatibilityTable]
//   J12 What a thread wrote is in the job before it gives up the global lock.
//       [LockTest.HooksRunForWritersOnly, Durable.WhatWasUnlockedIsInTheNextCommit]
//   J13 A waiter is notified by a commit that began after it registered, after that commit's
//       section is on the device. So all that it wrote before is durable.
//       [CommitNotifier.OnlyACommitThatBeginsLaterCounts,
//       GroupCommitTest.WhoComesDuringACommitWaitsForTheNext,
//       Durable.AFailedJournalWriteEndsTheProcessUnacknowledged,
//       CrashStates.AKilledProcessLosesNothingAcknowledged]
//   J14 One commit at a time, up to and with WRITETODATAFILES: sections are applied in the order
//       that they have in the journal. [GroupCommitTest.ASecondCommitWaitsUntilTheFirstIsApplied]
//   J15 The creation of a data file stands in the journal before every write to it.
//       [Durable.AcknowledgedWritesSurviveAKill, WriteCollectorTest.CreatedFilesKeepTheirOrder,
//       DurableOrder.ANewFileIsOnTheDeviceBeforeItHasItsName]
//   J16 Private copies are dropped only when all that was declared has been committed and applied.
//       [GroupCommitTest.NothingIsRemappedWhileAWriteIsPending]
//   J17 A data file is flushed before it is closed: the flushes that let journal files go (J5) do
//       not see it later. [Durable.AClosedFileIsOnTheDiskAndNotOnlyInTheJournal]
//   J18 A commit that fails, and a flush that fails, end the process.
//       [Durable.AFailedJournalWriteEndsTheProcessUnacknowledged, Durable.AFailedFlushIsFatal,
//       GroupCommitTest.ACommitThatCannotRotateEndsTheProcess,
//       DiskFaults.EveryCallOfALifeFailsOnce]
//   J19 Every store was declared. Debug and sanitizer builds compare the views before any waiter is
//       notified, and end the process otherwise.
//       [Durable.AnUndeclaredWriteIsNamedAndNeverAcknowledged,
//       Durable.ParanoidFindsAnUndeclaredWrite]
//   J20 What one commit has to carry is bounded: a holder of w commits, or waits for others to,
//       before it writes what would be too much together with what is uncommitted or announced
//       (write_admission.h); entries of indexes are refused from CommitLimits::most_bytes on; and
//       the buffer holds three times as much.
//       [WriteCollectorTest.ManyDeclarationsOfTheSameBytesAreCountedOnce,
//       WriteCollectorTest.ASpoolThatMergesHidesLittle,
//       Durable.LargeDocumentsThatArriveTogetherShareCommitsOfABoundedSize,
//       Durable.ALargeDocumentWaitsForThoseThatNoCommitCarriesWithIt,
//       CommitSizeTest.ARingLosesNothingToADocumentWithTooManyKeys,
//       BoundedCommits.CompactCommitsByBytes, BoundedCommits.RepairCommitsByBytes,
//       BoundedCommits.RenamingToAnotherDatabaseCommitsByBytes, BoundedCommits.OutCommitsByBytes,
//       BoundedCommits.ConvertingToCappedCommitsByBytes]
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "journal/commit_schedule.h"
#include "journal/counters.h"
#include "journal/journal.h"
#include "journal/op_stream.h"
#include "journal/section.h"
#include "os/clock.h"
#include "storage/lock.h"
#include "storage/mmapv1/commit/commit_notifier.h"
#include "storage/mmapv1/commit/data_file_writer.h"
#include "storage/mmapv1/commit/remap.h"
#include "storage/mmapv1/commit/write_collector.h"
#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

// Keeps the journal thread out, for fsync with lock. Taken and left by any thread. A waiter waits
// as long as it takes, or until the thread's operation is interrupted; then acquire() throws.
class CommitHold {
  public:
    void acquire();
    void release();
    // Whether a thread is in acquire() while another has it.
    bool is_awaited() const;

  private:
    mutable std::mutex mutex_;
    std::condition_variable free_;
    bool held_ = false;  // guarded by mutex_
    int waiting_ = 0;    // guarded by mutex_
};

class GroupCommit {
  public:
    struct Options {
        bool always_remap = false;
        // Compares both views of every file before a commit acknowledges anything and after a full
        // path: a byte that changed without a declared intent ends the process.
        bool paranoid = false;
    };
    // Returns the bytes that commits since the last remap have left (remap.h).
    uint64_t private_bytes() const { return remapper_.private_bytes(); }

    GroupCommit(storage::LockManager& locks, FileSet& files, WriteCollector& collector,
                CommitLatch& latch, CommitNotifier& notifier, journal::CommitSchedule& schedule,
                journal::Journal& journal, DataFileWriter& writer, journal::Counters& counters,
                os::Clock& clock, const Options& options);

    // One cycle of the journal thread, which holds no lock.
    void run_cycle();
    // A commit in the caller's lock: global R, W or X. Its bytes are in the shared views when this
    // returns.
    void commit_in_lock();
    // With a writer that defers, a commit in R leaves them to it. All that was written so far is in
    // the shared views when this returns. REQUIRES: no lock, R, W or X.
    void store_all();
    // A full path, by a thread that holds no lock.
    void run_full_cycle();
    // Called, holding the commit latch, when a flush is to begin early.
    void set_flush_request(std::function<void()> request) { request_flush_ = std::move(request); }

    CommitHold& hold() { return hold_; }
    const CommitHold& hold() const { return hold_; }

    // True while this thread is inside run_cycle: it must not start commits of its own.
    static bool in_cycle();

  private:
    enum class Path { usual, full, early };

    // A cycle by a thread that has taken hold_, which this gives back.
    void run_held_cycle(Path path);
    bool full_path_due();  // asked once a cycle
    // Private copies take so much that only a full path may follow.
    bool much_is_private() const;
    void commit(Path path);
    // REQUIRES: the latch is held.
    void commit_latched(Path path);
    void clear();
    void remap();
    void compare_views(std::vector<WriteIntent> declared);

    storage::LockManager& locks_;
    FileSet& files_;
    WriteCollector& collector_;
    CommitLatch& latch_;
    CommitNotifier& notifier_;
    journal::CommitSchedule& schedule_;
    journal::Journal& journal_;
    DataFileWriter& writer_;
    journal::Counters& counters_;
    os::Clock& clock_;
    const Options options_;
    std::function<void()> request_flush_ = [] {};
    CommitHold hold_;

    // Guarded by the commit latch, and empty between commits:
    journal::OpBuffer ops_;
    journal::SectionWriter sections_;
    std::vector<WriteIntent> intents_;
    // Guarded by the commit latch where it is fed, by global W or X where it is used.
    Remapper remapper_;
};

}  // namespace mmapv1
