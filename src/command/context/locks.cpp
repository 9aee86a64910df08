#include "command/context/locks.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/uuid.h"
#include "dialect/collections.h"
#include "sched/compute_slots.h"

namespace command {

bool should_defer(OperationContext& context, std::string_view db, bool exclusive, bson::Doc request,
                  std::string_view limit) {
    if (!context.locks().overloaded(db, exclusive)) return false;
    // A command of a script that runs under a lock has what it could wait for.
    if (storage::LockManager::mode() != storage::GlobalMode::none) return false;
    const sched::Operation& operation = context.operation();
    if (operation.kill_pending() || sched::Operation::shutting_down()) return false;
    const int64_t max_time_ms = request[limit].to_int64();
    return max_time_ms <= 0 || sched::Operation::Clock::now() - operation.started() <
                                   std::chrono::milliseconds(max_time_ms);
}

void append_uuid_of_new(OperationContext& context, bson::Builder& options) {
    if (context.catalog().gives_uuids() &&
        context.current().dialect().has(dialect::kCollectionsHaveUuids))
        catalog::append_uuid(options, catalog::kUuidOption, catalog::random_uuid());
}

void fail_if_shutting_down() {
    if (sched::Operation::shutting_down()) sched::Operation::check();
}

namespace {

// A request that knows views has looked for one before.
void refuse_view(catalog::Catalog& catalog, std::string_view ns) {
    const catalog::Database* db = catalog.database(catalog::split(ns).db);
    if (db != nullptr && db->view(ns) != nullptr)
        base::fail(base::kCommandNotSupportedOnView, "Namespace {} is a view, not a collection",
                   ns);
}

// In a transaction.
storage::Access access_in(const Transactions::Use* transaction, storage::Access access) {
    const bool is_less = transaction != nullptr && access == storage::Access::all;
    return is_less ? storage::Access::documents : access;
}

void refuse_in_transaction(std::string_view ns, std::string_view why) {
    base::fail(base::kOperationNotSupportedInTransaction,
               "the collection {} cannot be used so in a transaction: {}", ns, why);
}

}  // namespace

CollectionLock::CollectionLock(OperationContext& context, std::string_view ns,
                               storage::Access access, Views views)
    : context_(context),
      ns_(ns),
      db_(catalog::split(ns_).db),
      access_(access_in(context_.transaction(), access)),
      lock_(std::in_place, context_.locks(), db_, access_) {
    look_up();
    if (may_write()) fail_if_shutting_down();
    if (collection_ != nullptr)
        incarnation_ = collection_->incarnation();
    else if (views == Views::refused && context_.catalog().may_have_views())
        refuse_view(context_.catalog(), ns_);
    // 0 says that there was no collection.
    DCHECK((incarnation_ == 0) == (collection_ == nullptr));
}

void CollectionLock::look_up() {
    collection_ = context_.catalog().collection(ns_);
    if (Transactions::Use* const transaction = context_.transaction())
        return look_up_in(*transaction);
    if (access_ != storage::Access::documents || !is_concurrent()) return;
    must_lock_records_ = true;
    if (collection_ == nullptr || !collection_->allows_concurrent_changes()) take_all();
}

void CollectionLock::look_up_in(Transactions::Use& transaction) {
    if (db_ == "admin" || db_ == "config" || db_ == "local")
        refuse_in_transaction(ns_, "it is one of the server's own databases");
    must_lock_records_ = may_write();
    if (may_write() && collection_ != nullptr && !collection_->may_change_in_transaction())
        refuse_in_transaction(ns_, collection_->capped() ? "it is capped" : "it is a system one");
    transaction.check(ns_, may_write());
}

template <typename Work>
void CollectionLock::outside(Transactions::Use& transaction, const Work& work) {
    lock_.reset();
    transaction.outside(context_, work);
    lock_.emplace(context_.locks(), db_, access_);
    look_up();
    fail_if_shutting_down();
}

void CollectionLock::take_all() {
    access_ = storage::Access::all;
    lock_.emplace(context_.locks(), db_, access_);
    DCHECK(!is_concurrent());
    collection_ = context_.catalog().collection(ns_);
}

void CollectionLock::settle(const storage::WriteConflict& conflict) {
    DCHECK(must_lock_records_);
    if (Transactions::Use* const transaction = context_.transaction()) {
        if (!conflict.needs_all) fail_conflict();
        return outside(*transaction, [&] {
            CollectionLock all(context_, ns_, storage::Access::all);
            if (all.collection() == nullptr || all.incarnation() != incarnation_) return;
            storage::WriteUnit unit(context_.durability());
            unit.admit(0);
            all.collection()->expect_arrays(conflict.first_array_of);
            unit.keep();
        });
    }
    if (!conflict.needs_all) {
        if (context_.locks().await_conflict(context_.may_defer())) return;
        sched::Operation::check();
        context_.report().comes_again = true;
        throw Deferred();
    }
    take_all();
    fail_if_shutting_down();
}

catalog::Collection& CollectionLock::make() {
    DCHECK(lock_.has_value() && may_write());
    if (Transactions::Use* const transaction = context_.transaction();
        transaction != nullptr && collection_ == nullptr) {
        outside(*transaction, [&] { CollectionLock(context_, ns_, storage::Access::all).make(); });
        if (collection_ == nullptr) query::throw_dropped(ns_);
        incarnation_ = collection_->incarnation();
    }
    if (collection_ == nullptr) {
        DCHECK(!is_concurrent());
        bson::Builder options;
        append_uuid_of_new(context_, options);
        collection_ = &context_.catalog().collection_for_write(ns_, options.doc());
        incarnation_ = collection_->incarnation();
    }
    return *collection_;
}

bool CollectionLock::should_yield() {
    DCHECK(lock_.has_value());
    sched::Operation::check();
    if (may_write()) commit_between();
    return !kept_ && lock_->should_yield();
}

bool CollectionLock::yield() {
    DCHECK(lock_.has_value() && !kept_);
    ++yields_;
    context_.current().count_yield();
    lock_->yield();
    return look_again();
}

bool CollectionLock::may_give_up() {
    DCHECK(lock_.has_value());
    return !kept_ && context_.transaction() == nullptr && lock_->may_give_up();
}

void CollectionLock::give_up() {
    DCHECK(may_give_up());
    if (may_write()) commit_between();
    ++yields_;
    context_.current().count_yield();
    lock_->give_up();
}

bool CollectionLock::take_back() {
    lock_->take_back();
    return look_again();
}

bool CollectionLock::look_again() {
    look_up();
    if (may_write()) fail_if_shutting_down();
    return is_same();
}

void CollectionLock::release() {
    lock_.reset();
    collection_ = nullptr;
}

void CollectionLock::take() {
    if (lock_) return;
    sched::ComputeSlots::yield_slot();
    lock_.emplace(context_.locks(), db_, access_);
    if (!look_again()) query::throw_dropped(ns_);
}

}  // namespace command
