// storage/durability.h - when is what I wrote on disk?
//
// Writes become part of the running commit when their lock is released. A waiter registers and is
// called back by the commit that covers it; it holds no thread meanwhile (journal spec 1.6 to 1.8).
#pragma once

#include <cstdint>
#include <functional>

#include "bson/builder.h"

namespace storage {

// One waiter; intrusive, owned by the caller (a connection), alive until `done` was called. `done`
// runs on the committing thread and must be short: it hands over to the connection's event loop.
struct CommitWaiter {
    CommitWaiter* next = nullptr;
    uint64_t ticket = 0;  // the engine's: the commit number that must be passed
    void (*done)(CommitWaiter*) = nullptr;
};

class Durability {
  public:
    virtual ~Durability() = default;

    // Whether there is a journal. Without one, await_commit returns true at once and nothing is
    // promised.
    virtual bool journaling() const = 0;

    // Registers a waiter for the first commit that starts after this call. Returns true when there
    // is nothing to wait for (done is then not called). The caller holds no lock.
    virtual bool await_commit(CommitWaiter* waiter) = 0;
    // Blocks until such a commit is on disk (tools, shutdown, tests).
    virtual void await_commit_blocking() = 0;

    // Commits now, on this thread, in the caller's lock (global R, W or X); applied when it
    // returns.
    virtual void commit_now() = 0;
    // Commits if much is uncommitted (journal spec 1.6). Call between documents of a bulk write,
    // holding a write lock at a point where the data is consistent. Cheap when there is little.
    virtual bool commit_if_needed() = 0;

    // Flushes all data files; returns their number. sync: waits for the disk.
    virtual int flush_all(bool sync) = 0;
    // Commit, flush, remove all journal files; caller holds global W (dropDatabase, fsync with
    // lock).
    virtual void sync_and_truncate_journal() = 0;
    // fsync with lock: keeps the commit thread out until unlocked.
    virtual void lock_commits() = 0;
    virtual void unlock_commits() = 0;

    // serverStatus sections: writes the fields of `dur` (only if journaling) and
    // `backgroundFlushing`.
    virtual void append_dur_status(bson::Builder& out) const = 0;
    virtual void append_flush_status(bson::Builder& out) const = 0;
    virtual int64_t mapped_bytes() const = 0;
};

}  // namespace storage
