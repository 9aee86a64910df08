// storage/mmapv1/commit/data_file_writer.h - who stores what was committed into the data files, and
// when.
//
// The base stores each section as soon as it is on the device. Another writer may keep what has to
// be stored until the files are flushed: it defers. What waits then stands in the private views. A
// flush stores it in batches, which are copied under R, committed with all that was written until
// then, and stored while others go on. Two rules hold for every writer; they continue those of
// group_commit.h:
//
//   J24 The journal counts a section as applied only when the data files have all of it and of
//   those
//       before it. [DataFileWriterTest.AJournalFileStaysUntilAllOfItIsStored]
//   J26 Private copies are dropped, files closed, and files needed whole only when everything is
//       stored. [DataFileWriterTest.PrivateCopiesStayUntilTheyAreStored,
//       DataFileWriterTest.ACommitInTheWriteLockStoresAll, DeferredDurable.AClosedFileHasAll,
//       DeferredDurable.FsyncStoresAndFlushes, DeferredDurable.AShutdownStoresAndFlushes]
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "journal/counters.h"
#include "journal/journal.h"
#include "os/clock.h"
#include "storage/lock.h"
#include "storage/mmapv1/commit/write_collector.h"
#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

class DataFileWriter {
  public:
    // What a writer works with.
    struct Parts {
        FileSet& files;
        journal::Journal& journal;
        journal::Counters& counters;
        os::Clock& clock;
        uint64_t process_bytes = 0;  // memory that the process may have; 0: as much as it needs
    };

    explicit DataFileWriter(const Parts& parts) : parts_(parts) {}
    virtual ~DataFileWriter() = default;
    DataFileWriter(const DataFileWriter&) = delete;
    DataFileWriter& operator=(const DataFileWriter&) = delete;

    // A section that was written and synced, what it was made of, and its number. In the order of
    // the journal. Throws base::Error as store_section(). REQUIRES: the commit latch.
    virtual void write(std::span<const uint8_t> ops, std::span<const WriteIntent> intents,
                       uint64_t sequence) = 0;

    // Whether what was written may wait. Nothing below is of use where it does not.
    virtual bool defers() const { return false; }

    // Stores everything, and ends a batch that is under way.
    // REQUIRES: global R, W or X, all that was declared is committed, and the commit latch.
    virtual void store_all() {}
    // Adds the ranges of private views that may differ from the files, since they wait.
    // REQUIRES: the commit latch.
    virtual void append_waiting(std::vector<WriteIntent>& /*ranges*/) {}
    // Stores what was written before, while others write and commit: `commit` commits what was
    // declared until then. If store_all() is called during it, this ends. An exception is fatal.
    // REQUIRES: no lock; one thread at a time.
    void store_beside_commits(storage::LockManager& locks, CommitLatch& latch,
                              const std::function<void()>& commit);

    // Brings to the device what store() has stored since the last call, a piece at a time, so that
    // a flush has less to do at once; calls `between` before each. No lock; one thread at a time.
    void write_stored(const std::function<void()>& between);

    // Memory that the private copies of what was written take, since they were dropped; pages that
    // were stored and changed again count again. Any thread.
    uint64_t private_bytes() const { return private_bytes_.load(std::memory_order_relaxed); }
    // At three quarters of it a flush begins early; at all of it the next cycle of the journal
    // thread stores everything and drops the private copies. Any thread.
    virtual uint64_t private_bytes_max() const { return UINT64_MAX; }
    bool is_full() const { return private_bytes() >= private_bytes_max(); }
    // All private copies were dropped. REQUIRES: W or X, and that everything is stored.
    void note_dropped();
    // True once until note_flush(): the private copies want an early flush, as they do sooner
    // where little memory is left to the process. REQUIRES: the commit latch.
    bool wants_flush();
    bool flush_wanted() const { return flush_wanted_; }
    void note_flush() { flush_wanted_ = false; }

  protected:
    // The steps of store_beside_commits(). What was written until now becomes what batches are made
    // of; false: nothing waits. REQUIRES: the commit latch.
    virtual bool begin_batches() { return false; }
    // Copies some of it, as it is now; false: the batch is large enough, or has all. REQUIRES: R.
    virtual bool copy_some() { return false; }
    // Stores what was copied; false: it was the last batch, or store_all() was called. No lock.
    virtual bool store_batch() { return false; }

    void note_private(uint64_t bytes);
    // One thread at a time.
    void store(DurableFile& file, uint64_t offset, std::span<const uint8_t> bytes);

    const Parts parts_;

  private:
    bool is_memory_short();
    std::optional<uint64_t> take_piece(const DurableFile& file, uint64_t from);

    std::atomic<uint64_t> private_bytes_{0};
    std::atomic<bool> flush_wanted_{false};
    uint64_t looked_at_ = 0;  // private_bytes() when memory was last looked at; with the latch

    std::mutex stored_mutex_;
    // Guarded by it: pieces, by DurableFile::opening().
    std::map<uint64_t, std::set<uint64_t>> stored_;
};

// The one that the options ask for.
std::unique_ptr<DataFileWriter> make_data_file_writer(const DataFileWriter::Parts& parts);

}  // namespace mmapv1
