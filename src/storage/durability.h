// storage/durability.h - when is what I wrote on disk?
//
// Writes become part of the running commit when their lock is released: the engine learns of it by
// LockHooks (storage/lock.h), and what one thread wrote under one lock becomes durable as a whole.
// A waiter registers and is called back by the commit that covers it; it holds no thread while it
// waits (journal spec 1.6 to 1.8). Calls come from any thread. An engine that cannot make writes
// durable any more must not report an error here: it ends the process (base::fatal), so that
// recovery starts from what is on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "bson/builder.h"

namespace storage {

// One waiter; intrusive, owned by the caller (a connection), alive until `done` was called, which
// happens exactly once and may free it. `done` runs on the committing thread, which may be the
// caller's before await_commit returned, and must be short: it hands over to the connection's event
// loop. During the call the engine holds nothing that await_commit needs.
struct CommitWaiter {
    CommitWaiter* next = nullptr;
    uint64_t ticket = 0;  // the engine's: the commit number that must be passed
    void (*done)(CommitWaiter*) = nullptr;
};

// A step of a commit that rests on the order of commits, such as an entry which tells what changed
// after what. The thread whose changes are committed makes it, one thread at a time.
class CommitStep {
  public:
    virtual ~CommitStep() = default;
    // Changes rows, which become part of the commit. It must not fail.
    virtual void write() = 0;
    // The commit has been made: others see it.
    virtual void committed() = 0;
};

class Durability {
  public:
    virtual ~Durability() = default;

    // Whether there is a journal. Without one, await_commit returns true at once and nothing is
    // promised.
    virtual bool journaling() const = 0;

    // Registers a waiter for the first commit that starts after this call: it covers all changes
    // whose lock was released before. Returns true when there is nothing to wait for (done is then
    // not called). The caller holds no lock.
    virtual bool await_commit(CommitWaiter* waiter) = 0;
    // Makes that commit come at once if the engine commits at intervals: others wait for its
    // waiters. Any thread, in no lock.
    virtual void hurry() {}
    // Blocks until such a commit is on disk (tools, shutdown, tests).
    virtual void await_commit_blocking() = 0;

    // Commits now, on this thread, in the caller's lock (global R, W or X); durable when it
    // returns. Without a journal it does nothing.
    virtual void commit_now() = 0;
    // Commits if much is uncommitted (journal spec 1.6); returns whether it thought so. Call
    // between documents of a bulk write, holding a write lock at a point where the data is
    // consistent: what was written so far need not be undone as one. Cheap when there is little.
    virtual bool commit_if_needed() = 0;

    // The rest of admission, which storage/write_unit.h asks for. The same, when a document of that
    // size is about to be changed, or so many bytes of a document and its indexes. Large ones that
    // arrive together wait for each other's commits. Throws base::Error 96 for more than one commit
    // can carry.
    virtual void make_room(int64_t /*document_bytes*/) { commit_if_needed(); }
    // Holding the write lock. Throws base::Error when no commit could carry much more than what has
    // been changed since the last one. Asked before an entry of an index is added or removed, but
    // not for the first few of an update or removal, nor where a change is undone.
    virtual void check_room() const {}
    // Beyond so many bytes it throws.
    virtual int64_t commit_bytes() const { return int64_t{1} << 30; }

    // Changes of the calling thread, from the first call on, are taken back by undo(), which needs
    // neither space in the data files nor room in the commit and does not fail, or are kept by
    // end_undo(). Pairs may lie in each other. Nothing commits in between: admission finds that
    // there is little. Extents and files that were added may stay,
    // empty. REQUIRES: a write lock, held for longer; nothing is dropped, renamed or built in
    // between. For storage/write_unit.h.
    virtual void begin_undo() = 0;
    virtual void undo() = 0;
    virtual void end_undo() = 0;
    // Whether the calling thread is between two of them. Then on_undo() has a call made once its
    // changes are taken back, the later call first: for what is known in memory of them.
    virtual bool keeps_undo() const = 0;
    virtual void on_undo(std::function<void()> call) = 0;

    // Adds a step to the commit of what the calling thread changes, after those that it has; it
    // will write so many bytes. undo() takes it back, with what has been changed since. Where
    // writers have a database alone nothing else can be committed in between.
    virtual void add_step(std::unique_ptr<CommitStep> step, size_t /*bytes*/) {
        step->write();
        step->committed();
    }

    // Flushes all data files (a checkpoint); returns their number. sync: waits for the disk.
    virtual int flush_all(bool sync) = 0;
    // Commit, flush, remove all journal files; caller holds global W (dropDatabase, fsync with
    // lock).
    virtual void sync_and_truncate_journal() = 0;
    // fsync with lock: nothing changes the files between these two, once
    // sync_and_truncate_journal() and flush_all() have been called. Both on the same thread. The
    // first waits for a commit that is under way, unless the thread's operation is interrupted.
    virtual void lock_commits() = 0;
    virtual void unlock_commits() = 0;

    // serverStatus sections: writes the fields of `dur` (only if journaling) and
    // `backgroundFlushing`, where the engine has such metrics.
    virtual void append_dur_status(bson::Builder& /*out*/) const {}
    virtual void append_flush_status(bson::Builder& /*out*/) const {}
    virtual int64_t mapped_bytes() const { return 0; }

    // Run-time parameters; any thread, effective with the next cycle. The range is the caller's to
    // check; an engine without such a cycle ignores them. The interval in microseconds, nothing for
    // the engine's choice.
    virtual void set_commit_interval(std::optional<int64_t> /*interval_us*/) {}
    virtual void set_sync_delay_seconds(double /*seconds*/) {}

    // journalLatencyTest: appends timeMillis, timeMillisWithPrealloc and onSamePartition (journal
    // spec 5.4), where the engine has such a journal. Takes some seconds; no lock.
    virtual void run_latency_test(bson::Builder& /*out*/) {}
};

}  // namespace storage
