// storage/lock.h - what threads hold: the global lock in one of its modes (mode_lock.h), and below
// r or w the lock of one database (reader_writer_lock.h).
//
// Order: global first, then at most one database (rename across databases takes global W), then
// that of the log of changes, if there is one: a lock to write another database includes it. No
// lock is recursive.
//
// Every engine owns one manager and takes no other locks that callers could see. An engine that
// lets documents be changed concurrently keeps those apart that change the same one, and says so by
// WriteConflict (write_conflict.h); to the rooms above there is nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "storage/mode_lock.h"

namespace storage {

// How the lock of a database is held. `read` and `documents` share it; `all` has it alone, and
// changes what there is beside documents: collections, indexes, capped collections. If the engine
// changes no documents concurrently, `documents` is `all`.
enum class Access : unsigned char { read, documents, all };

// The calls by which the engine hears of write locks. The locking thread makes them all. Between
// the two lie the writes of that thread that become durable together: an engine with transactions
// begins and commits one here. The callers have undone by hand what failed on the way (catalog/),
// so there is never anything to roll back.
class LockHooks {
  public:
    virtual ~LockHooks() = default;
    virtual void before_write_lock() = 0;  // holding nothing, about to take w or W
    virtual void
    before_write_unlock() = 0;  // database lock already given up, global w or W (or X) still held
    // Called before it, with everything that was locked still held, and by readers too: the next
    // holder sees what is done here. It is also called when W becomes R.
    virtual void before_unlock() {}
    // Called by a holder of Access::documents that has met a WriteConflict and undone its change:
    // its earlier changes are committed, and when this returns the change may be tried again.
    // Throws the error that ends an operation. Where a transaction that no thread works for has
    // the row: returns false at once if `may_defer`; else that transaction is wounded
    // (transaction.h).
    virtual bool await_conflict(bool /*may_defer*/) { return true; }
};

class LockManager {
  public:
    LockManager();
    ~LockManager();
    LockManager(const LockManager&) = delete;
    LockManager& operator=(const LockManager&) = delete;

    void set_hooks(LockHooks* hooks);  // before the first write lock; null: none

    // Lets every thread that writes another database write this one too, which is locked with it,
    // in the same way, and in the same commit. Call before the first lock.
    void set_log_database(std::string_view db);
    // Notes that the engine changes documents concurrently. Call before the first lock.
    void allow_concurrent_changes();

    void lock_global(GlobalMode mode);  // r, w, R or W
    void unlock_global();               // whatever this thread holds
    // REQUIRES: the calling thread holds W. It holds nothing from now on, but no lock is given any
    // more: the end of an engine. Operations that wait can only be interrupted.
    void leave_locked();
    void downgrade_W_to_R();
    void upgrade_R_to_W();  // may let other R holders through first
    // w -> X: returns when every other w holder waits here too; exactly one thread gets true and
    // must call X_to_w when it is done, the others are let go with false.
    bool w_to_X();
    void X_to_w();
    // The calling thread's state.
    static GlobalMode mode();
    static bool holds_database_write();  // alone
    // Whether others may change documents of its database at the same time.
    static bool is_concurrent();
    // Whether that has been so for a second: what the thread reads is as old as that.
    static bool is_concurrent_for_long();
    static std::string_view database();
    // Whether what it holds lets it read, or change, that database. For DCHECKs of preconditions.
    static bool may_read(std::string_view db);
    static bool may_write(std::string_view db);
    static bool may_write();  // some database

    // The name is kept by the caller until it unlocks.
    void lock_database(std::string_view db, Access access);
    void unlock_database();
    // See LockHooks.
    bool await_conflict(bool may_defer = false);

    // True when an operation waits for what this thread holds: long operations yield then.
    bool contended() const;
    // True when so many threads wait already that a request which would have to wait for these
    // locks should be deferred. Each waiting thread costs a stack.
    static constexpr int kWaitingThreads = 32;
    bool overloaded(std::string_view db, bool exclusive) const;
    // serverStatus: fields of globalLock and locks.
    void append_global_status(bson::Builder& out) const;
    void append_lock_status(bson::Builder& out) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Global R or W for a scope.
class GlobalLock {
  public:
    GlobalLock(LockManager& manager, GlobalMode mode) : manager_(manager) {
        manager_.lock_global(mode);
    }
    ~GlobalLock() { manager_.unlock_global(); }
    GlobalLock(const GlobalLock&) = delete;
    GlobalLock& operator=(const GlobalLock&) = delete;

  private:
    LockManager& manager_;
};

// Global r or w plus one database, for a scope. If the thread already holds global R or W (or X),
// it only records nothing: the database is covered.
class DatabaseLock {
  public:
    // A wait ends with what sched::Operation::check_interrupt throws when the thread's operation is
    // killed or out of time.
    DatabaseLock(LockManager& manager, std::string_view db, Access access);
    // exclusive: `all`; else `read`.
    DatabaseLock(LockManager& manager, std::string_view db, bool exclusive)
        : DatabaseLock(manager, db, exclusive ? Access::all : Access::read) {}
    ~DatabaseLock();
    DatabaseLock(const DatabaseLock&) = delete;
    DatabaseLock& operator=(const DatabaseLock&) = delete;
    // Whether others wait for these locks, or for the compute slot of the thread
    // (sched/compute_slots.h), or what it reads is from so long ago that the engine has to keep
    // much for it: long operations yield then.
    bool should_yield() const;
    // Gives the locks up and takes them again; cursors must be saved around it.
    void yield();
    // The same in two halves. REQUIRES: the thread holds no lock that covers this one.
    bool may_give_up() const { return !covered_; }
    void give_up();
    void take_back();

  private:
    void lock(bool may_give_up);
    void unlock();

    LockManager& manager_;
    std::string db_;
    Access access_;
    bool covered_;
};

}  // namespace storage
