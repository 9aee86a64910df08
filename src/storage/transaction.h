// storage/transaction.h - a transaction over several requests: all of its reads are of one moment,
// its changes are its own until they are committed, all at once.
//
//   begin_transaction()  (engine.h)
//     parked   <--leave()--   entered by one thread   --settle(), end of the lock--> committed
//              --enter()-->
//     ~Transaction(): nothing of it was ever there
//
// It is parked between two requests, where no thread works for it, and any thread may enter it
// next. A row that it has changed stays locked until its end. Who meets such a lock:
// - another transaction, and who changes what has changed since this one's moment: WriteConflict;
// - a thread that changes documents beside others waits (LockHooks::await_conflict);
// - a thread that has the database alone cannot wait. It wounds the transaction: its locks go, and
//   it can only be given up from then on.
//
// It begins to see with its first access, under that lock. REQUIRES: a thread that has entered one
// reads under locks of any database and changes documents under Access::documents, nothing else.
#pragma once

#include <cstddef>
#include <string_view>

namespace storage {

class Transaction {
  public:
    // Takes back what it has changed. Any thread, while none has entered it.
    virtual ~Transaction() = default;
    // Between these two calls what the thread reads and changes under its locks is the
    // transaction's. The thread holds no lock when it makes them.
    virtual void enter() = 0;
    virtual void leave() = 0;
    // Entered, lock at least shared: whether what the catalogue says of the collection now, or that
    // there is none, is so at the moment that the transaction sees, too. One that is newer than
    // that moment is seen, empty.
    virtual bool sees(std::string_view ns) = 0;
    // Entered, with a lock to write each database that it has changed: its changes are the thread's
    // from here on, and are committed with the lock. REQUIRES: !is_wounded().
    virtual void settle() = 0;
    // Any thread.
    virtual bool is_wounded() const = 0;
    // Returns about how much memory it has for its changes. While none has entered it, or by the
    // thread that has.
    virtual size_t memory_bytes() const = 0;
};

}  // namespace storage
