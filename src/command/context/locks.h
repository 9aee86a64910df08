// command/context/locks.h - how commands hold a collection's lock, and how long scans yield.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/dcheck.h"
#include "bson/builder.h"
#include "catalog/catalog.h"
#include "command/context/operation_context.h"
#include "query/plan/executor.h"
#include "sched/yield_point.h"
#include "storage/lock.h"
#include "storage/write_conflict.h"
#include "storage/write_unit.h"

namespace command {

// Whether a request that needs a database lock should not begin yet: it would have to wait, and
// enough threads do that already. It is served anew a little later, and holds no thread until
// then. False where it has been killed, or its time is over: then its wait for the lock ends it.
// The time is the value of `limit` in the request, in milliseconds; none: no limit.
constexpr std::chrono::milliseconds kRetryAfter{50};
bool should_defer(OperationContext& context, std::string_view db, bool exclusive,
                  bson::Doc request = {}, std::string_view limit = "maxTimeMS");

// Thrown by a request that would wait for a transaction which no thread works for, and has done
// nothing yet: it is served anew a little later. No base::Error, like storage::WriteConflict.
struct Deferred {};

// Throws base::Error 11600 when the server shuts down; called with a lock to write. If another
// operation had taken away the indexes of a collection for a while, the next start brings them
// back: until then a write would not be held against a unique one, and a copy would be made without
// them.
void fail_if_shutting_down();

// Appends the UUID of a collection that the request makes to the options that are stored of it,
// where it gets one.
void append_uuid_of_new(OperationContext& context, bson::Builder& options);

// A database lock with the collection looked up under it. It is a YieldPoint that yields when
// others wait, and notices when the collection has changed under a saved scan.
class CollectionLock final : public sched::YieldPoint {
  public:
    // Whether the name may be that of a view, which has no collection.
    enum class Views : bool { refused, taken };
    // The operation's yields are counted. exclusive: fail_if_shutting_down(), here and when it is
    // taken again. Throws base::Error 166 for a view that is refused.
    CollectionLock(OperationContext& context, std::string_view ns, bool exclusive,
                   Views views = Views::refused)
        : CollectionLock(context, ns, exclusive ? storage::Access::all : storage::Access::read,
                         views) {}
    // Access::documents becomes `all` where the collection is missing or allows no less. In a
    // transaction `all` becomes `documents`, and where that is not enough base::Error 263 is
    // thrown; 246 and 112 where the collection has changed since it began.
    CollectionLock(OperationContext& context, std::string_view ns, storage::Access access,
                   Views views = Views::refused);

    // Null if there is none.
    catalog::Collection* collection() const { return collection_; }
    // exclusive: makes collection and database where missing. Throws base::Error 73 and the like.
    catalog::Collection& make();
    // exclusive: the database, made where missing.
    catalog::Database& make_database() { return context_.catalog().get_or_create(db_); }
    const std::string& ns() const { return ns_; }
    OperationContext& context() const { return context_; }
    // The database; null if there is none.
    catalog::Database* database() const { return context_.catalog().database(db_); }

    // Whether the collection is the one that it was when the lock was first taken.
    bool is_same() const {
        return collection_ != nullptr && collection_->incarnation() == incarnation_;
    }
    // Whether others may change documents of the collection at the same time.
    bool is_concurrent() const { return storage::LockManager::is_concurrent(); }
    // Whether they may have done so since the lock was first taken: a document that was found is
    // locked, and looked at again, before it is changed (command/write/document_change.h).
    bool must_lock_records() const { return must_lock_records_; }
    // A change has been undone because of a conflict: when this returns it may be tried again. The
    // changes made before are committed; the lock may have been given up (is_same()). Throws
    // Deferred, and of a transaction base::Error 112.
    void settle(const storage::WriteConflict& conflict);

    // To write: between two changes, commits what was written before, if that is much.
    void commit_between() {
        DCHECK(may_write());
        storage::WriteUnit::between(context_.durability());
    }

    // exclusive: does not yield any more.
    void keep() {
        DCHECK(may_write() && !is_concurrent());
        kept_ = true;
    }
    // Gives the lock up for work that does not need it, and takes it again: throws what
    // throw_dropped() does where the collection is not the same any more.
    void release();
    void take();
    uint64_t incarnation() const { return incarnation_; }
    bool should_yield() override;
    bool yield() override;
    bool may_give_up() override;
    void give_up() override;
    bool take_back() override;
    int64_t yields() const { return yields_; }

  private:
    void look_up();
    bool look_again();  // the lock was given up; is_same()
    void look_up_in(Transactions::Use& transaction);
    void take_all();
    // Gives the lock up, calls `work` outside of the transaction, and takes the lock again.
    template <typename Work>
    void outside(Transactions::Use& transaction, const Work& work);
    bool may_write() const { return access_ != storage::Access::read; }

    OperationContext& context_;
    const std::string ns_;
    const std::string_view db_;
    storage::Access access_;
    std::optional<storage::DatabaseLock> lock_;  // none: released
    catalog::Collection* collection_ = nullptr;
    uint64_t incarnation_ = 0;
    int64_t yields_ = 0;
    bool kept_ = false;
    bool must_lock_records_ = false;
};

}  // namespace command
