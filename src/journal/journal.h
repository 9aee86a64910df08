// journal/journal.h - the directory journal/ of a running server: appending sections, rotation, the
// lsn file, removal of what is not needed any more (journal spec 2, 3).
//
// This comment is the contract of that directory. What a commit does with it stands in the head of
// storage/mmapv1/commit/group_commit.h, where the safety rules go on.
//
// LAYOUT
//
//   j._<n>             a journal file. <n> counts up from 0 in each process, without a gap.
//   prealloc.<0..2>    a file made in advance, or one to be used again (file_pool.h)
//   prealloc.<i>.temp  the same while its header is being wiped; never read
//   lsn                88 bytes: the last section that a completed flush of the data files covers;
//                      or no byte at all: a mark that keeps the directory from being empty
//
//   A journal file:
//        0  header of 8192 bytes: "j\n", version (which says the unit), time, path, and at 156 the
//           file id: seconds and random bits, never 0
//     8192  section | zeros | section | zeros ...   each section at a multiple of the unit, 8192
//   A section, which is one commit:
//        0  length without the zeros (u32), sequence number (u64), file id (u64)
//       20  payload: the operations (op_stream.h), compressed
//     20+P  0xffffffff, hash of header and payload (16 bytes), 0 (u64), "\n\n\n\n"
//   format.h has the structures and a worked example.
//
// THE LIFE OF A FILE
//
//   spare     prealloc.<i>, or nothing: the name is then created
//     |         open_next(): a spare file gets a header and then its name; any file gets its
//     |         directory synced, then a header with a new file id, written and synced
//   open      append() again and again
//     |         after_append(), at limit_bytes of sections: cut off behind the last one and synced
//   closed    waits, oldest first, until a flush covers it (J5); checked when the next is closed
//     |         pool_.retire(): with preallocation on and a slot free it gets another name, that is
//     |         synced, the header is wiped, that is synced, and the file is spare again; else it
//     |         is unlinked
//   gone
//
// THE LIFE OF A SECTION
//
//   what is done                       where it is           what a crash now leaves of it
//   ---------------------------------  --------------------  ----------------------------------
//   SectionWriter::write()             memory                nothing; not acknowledged
//   append(): write                    page cache or device  nothing, or all of it: a torn one
//                                                            does not pass its checksum
//   append(): sync, it returns         device                all of it. From here on its waiters
//                                                            may be notified
//   shared views, note_applied()       and in memory of the  the same; a replay does it again
//                                      data files
//   a flush that began later has       and on the device,    the same
//   completed, flush_finished()        in the data files
//   retire() of its file               data files only       the data
//
//   A file is cut into sections by their own lengths. The first place where the file id is another
//   one, or the length, footer or checksum does not fit, is where the file ends; file_reader.h says
//   when that is an end and when it is damage.
//
// WHO MAY CALL WHAT
//
//   ensure_open, format, file_id, next_sequence, append, after_append, remove_files: one thread at
//     a time, which the caller ensures. In a running engine that is the holder of the commit latch;
//     at start and at shutdown there is one thread. This class has no lock for them.
//   note_applied: the same thread, after append.
//   flush_started, flush_finished: any thread, several at once. flush_mutex_ guards what they leave
//     for the committer; it is held for a few assignments and never during a call to the disk.
//   create_directory, check_space, allow_removal, prepare, mark_directory, unmark_directory,
//     sync_directory: start and end.
//
// SAFETY RULES, each with the tests that hold it, which say so ("Holds J1.")
//
//   J1  append() returns only when the section is on the device. If the write or the sync fails,
//       the process ends: what a later attempt would find in the page cache is not known.
//       [JournalTest.OneCommitIsOneWriteAndOneSync, JournalTest.FailedWriteOrSyncIsFatal,
//       JournalTest.ShortWritesAreCompleted, JournalPowerCut.TheDirectoryHasItsName,
//       DiskFaults.EveryCallOfALifeFailsOnce]
//   J2  A section is read back whole or not at all, and only from the file that it was written to:
//       it repeats the file's id, and its checksum covers header and payload.
//       [FileReaderTest.TornPayloadAtTheEnd, FileReaderTest.TornFooterAtTheEnd,
//       FileReaderTest.SectionCutOffByTheEndOfTheFile, FileReaderTest.SectionsOfAFormerLifeBehind,
//       DamagedJournal.FilesGiveWholeSectionsOrAnError]
//   J3  No j._<n> ever shows the file id of an earlier life, or none: the header of a used file is
//       wiped after it has lost its name for good and before it is spare, and written anew both
//       before and after it gets its name.
//       [JournalTest.RecycledFilesShowNothingOfTheirFormerLife,
//       JournalTest.AUsedFileIsWipedBetweenItsNames,
//       JournalTest.ASpareFileHasItsNewHeaderBeforeItsName]
//   J4  Sequence numbers rise from section to section within a process. A start refuses a file in
//       which they fall.
//       [JournalTest.SequenceNumbersRiseEvenWhenTimeStandsStill,
//       FileReaderTest.SectionsOutOfOrderAreDamage]
//   J5  A closed file is removed only when a flush of all data files has completed that began after
//       every section of the file had been applied and more than 10 s after its closing.
//       remove_files() takes all at once: its caller has committed and flushed everything before,
//       and no write is in progress.
//       [JournalTest.AFlushThatBeganBeforeTheSectionWasAppliedDoesNotCoverIt,
//       JournalTest.ClosedFilesStayUntilAFlushCoversThemWithTimeToSpare,
//       JournalPowerCut.AFlushCoversWhatIsAppliedAndNotWhatIsAppended,
//       GroupCommitTest.ASectionCountsAsAppliedOnlyOnceItIs,
//       DurableOrder.TruncatingKeepsTheJournalUntilTheDataIsOnTheDevice,
//       DurableOrder.AShutdownKeepsTheJournalUntilTheDataIsOnTheDevice,
//       Durable.TruncatingLeavesTheDataOnTheDevice, CrashStates.EveryStateRecoversToACommit]
//   J6  Files are removed in ascending order, each for good before the next, and none behind one
//       that cannot be removed: what a crash leaves is the tail of the journal. A start refuses a
//       gap, or a number that stands twice.
//       [JournalTest.RemovalGoesUpwardsAndNumberingGoesOn,
//       JournalTest.ClosedFilesAreRemovedOldestFirst,
//       JournalTest.WhatCannotBeRemovedStaysWithAllBehindIt,
//       JournalTest.ClosedFilesBehindOneThatCannotBeRemovedStay,
//       JournalPowerCut.AClosedFileEndsBehindItsSections, JournalPowerCut.AFileThatStaysIsCutOff,
//       RecoveryOrder.AnInnerFileThatEndsEarlyIsRefused,
//       JournalTest.NumbersMustBeUniqueAndWithoutGaps]
//   J7  Nothing is removed before recovery has completed (allow_removal).
//       [JournalTest.NothingIsRemovedBeforeRecovery, RecoveryOfFixture.ScanOnlyChangesNothing,
//       RecoveryOrder.WhatAReplayDropsIsGoneForGood, DiskFaults.EveryCallOfARecoveryFailsOnce,
//       CrashStates.ACutDuringRecoveryIsFollowedByARecovery]
//   J8  The lsn file decides nothing: recovery reports it and replays every section that is there.
//       [JournalTest.AnUnusableLsnIsZero, GroupCommitTest.TheLsnFileLetsRecoverySkipNothing]
//   J9  journal/ has a journal file or an lsn file while the lock file says that a server with a
//       journal runs, and none when it says so of one without.
//       [Durable.TheJournalDirectoryIsNeverEmptyWhileAServerRuns,
//       Durable.ARunWithoutAJournalLeavesNoMarkOfOne, DurableOrder.TheMarkOfAJournalIsGoneForGood]
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/dcheck.h"
#include "journal/counters.h"
#include "journal/file_pool.h"
#include "journal/format.h"
#include "journal/log_file.h"
#include "journal/patch_options.h"
#include "os/clock.h"
#include "os/file_system.h"

namespace journal {

struct Settings {
    std::string directory;     // <dbpath>/journal
    uint64_t limit_bytes = 0;  // section bytes after which a file is left for the next one
    bool preallocation_allowed = true;
    bool check_space = true;
};

constexpr uint64_t kLimitBytes = uint64_t{1} << 30;
constexpr uint64_t kSmallLimitBytes = uint64_t{128} << 20;

// One journal file found on disk.
struct FoundFile {
    uint32_t number = 0;
    std::string path;
};
// All j._<n>, ascending. Throws base::Error 13531 for two files of one number, 13532 for a gap.
std::vector<FoundFile> find_journal_files(os::FileSystem& files, const std::string& directory);
bool has_journal_files(os::FileSystem& files, const std::string& directory);
// Whether a server with a journal has run over that directory and has not ended cleanly: there are
// journal files, or there is an lsn file.
bool was_in_use(os::FileSystem& files, const std::string& directory);
// What the lsn file says, for the log; 0 without a usable one. Recovery does not rely on it: the
// numbers of older servers allow it to skip sections that are needed.
uint64_t read_lsn(os::FileSystem& files, const std::string& directory);

class Journal {
  public:
    Journal(os::FileSystem& files, os::Clock& clock, Counters& counters, const Settings& settings);

    const std::string& directory() const { return settings_.directory; }

    // Start-up, in this order; recovery lies between the first two.
    void create_directory();
    void allow_removal() { removal_allowed_ = true; }
    // Whether the disk has room for what is written before a flush lets go of it: throws 15926. Not
    // for a directory that was in use: its journal is recovered first, whatever room there is.
    void check_space();
    void prepare();  // preallocation, first file

    // The commit's part: one thread at a time.
    void ensure_open();  // there is a file to append to
    const FileFormat& format() const { return format_; }
    uint64_t file_id() const { return file_id_; }
    uint64_t next_sequence();  // rising from section to section, about ms since start
    void append(std::span<const uint8_t> section, uint64_t raw_bytes);
    // lsn file and rotation, after an append.
    void after_append();

    // All sections up to `sequence` are in the shared views. One thread at a time, any.
    void note_applied(uint64_t sequence) {
        DCHECK(sequence >= applied_sequence_);
        applied_sequence_ = sequence;
    }

    // Around a synchronous flush of all data files. Any thread; flushes may overlap.
    struct FlushMark {
        uint64_t sequence = 0;
        int64_t started_ms = 0;
    };
    FlushMark flush_started() const;
    void flush_finished(const FlushMark& mark);

    // Closes the current file and removes all j._*; serialised with the commits. The next commit
    // opens a new file with the next number. What is left is a marked directory. Throws base::Error
    // where one cannot be removed: it is still there with all behind it, to be removed later.
    void remove_files();

    // A start that finds the lock file of a server that did not end cleanly refuses a journal/
    // without journal files and lsn file: it may be a mount point without its device, or that
    // server had no journal. So one of them is always there while the lock file says that a server
    // with a journal runs: where there is nothing else, an lsn file of zero bytes, which says
    // nothing to a recovery.
    bool was_in_use() const { return journal::was_in_use(files_, settings_.directory); }
    void mark_directory();    // before the lock file is written
    void unmark_directory();  // after it has been emptied
    // The names in it: what a killed process may have made and not synced.
    void sync_directory();

  private:
    struct ClosedFile {
        std::string path;
        int64_t closed_ms;
        uint64_t last_sequence;
    };

    int64_t elapsed_ms() const;
    void open_next();
    void write_file_header(LogFile& file);
    void rotate();
    void remove_unneeded();
    bool remove_file(const FoundFile& found);
    void cut_off(const std::string& path);
    [[noreturn]] void keep(std::span<const FoundFile> rest);
    void write_lsn(uint64_t lsn);

    os::FileSystem& files_;
    os::Clock& clock_;
    Counters& counters_;
    const Settings settings_;
    const int64_t started_us_;
    FilePool pool_;

    // Only used by the serialised calls:
    std::unique_ptr<LogFile> file_;
    FileFormat format_ = kClassicFormat;
    uint64_t file_id_ = 0;
    uint32_t next_number_ = 0;
    uint64_t written_ = 0;  // section bytes in file_
    uint64_t last_sequence_ = 0;
    std::deque<ClosedFile> closed_;
    bool removal_allowed_ = false;

    std::atomic<uint64_t> applied_sequence_{0};
    mutable std::mutex flush_mutex_;
    FlushMark last_flush_;    // guarded by flush_mutex_
    bool lsn_stale_ = false;  // guarded by flush_mutex_
};

}  // namespace journal
