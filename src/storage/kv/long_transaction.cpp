#include "storage/kv/long_transaction.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "bson/view.h"
#include "storage/kv/bytes.h"
#include "storage/kv/collection.h"

namespace kv {

std::unique_ptr<storage::Transaction> Store::begin_long() {
    return std::make_unique<Long>(*this);
}

// Any thread.
void Store::discard(std::unique_ptr<Transaction> of_long) {
    DCHECK(of_long->now == nullptr && of_long->undos == 0);
    of_long->session.end_cursors();
    of_long->session.clear();
    end_snapshot(*of_long);
    of_long->added.clear();
    of_long->calls.clear();
    of_long->steps.clear();
    of_long->step_bytes = 0;
    of_long->has_space = false;
    begun_bytes_.fetch_sub(std::exchange(of_long->begun_bytes, 0), std::memory_order_relaxed);
    row_locks_.end(of_long->row_locks);
    give_back(std::move(of_long));
}

Store::Long::~Long() {
    DCHECK(work_ != nullptr || is_settled_);
    if (is_settled_) return;
    store_.discard(std::move(work_));
    store_.longs_.fetch_sub(1, std::memory_order_acq_rel);
}

void Store::Long::enter() {
    DCHECK(t_held.store == nullptr && work_ != nullptr && !is_long());
    store_.row_locks_.set_parked(work_->row_locks, false);
    t_held = {&store_, std::move(work_), true};
}

void Store::Long::leave() {
    if (is_settled_) return;
    DCHECK(is_long() && t_held.store == &store_);
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::none);
    t_held.is_long = false;
    t_held.store = nullptr;
    work_ = std::move(t_held.transaction);
    if (work_->now != nullptr) store_.give_back(std::move(work_->now));
    store_.row_locks_.set_parked(work_->row_locks, true);
}

// Rows of the catalogue differ in a flag that may be set at any time: that an index has arrays. It
// says less of what there is then, and is kept outside of snapshots.
bool Store::Long::sees(std::string_view ns) {
    DCHECK(is_long());
    Overlay& mine = store_.session();
    Store::Transaction& work = *t_held.transaction;
    Bytes then, now;
    const bool was_there = mine.get(kCatalogue, as_bytes(ns), &then);
    const bool is_there = store_.now(work).session.get(kCatalogue, as_bytes(ns), &now);
    if (!is_there) return !was_there;
    const bson::Doc row(now.data());
    if (!was_there) return Collection::records_of(row) >= Table{work.tables_end};
    return std::ranges::equal(then, now) ||
           Collection::same_but_for_arrays(bson::Doc(then.data()), row);
}

void Store::Long::settle() {
    DCHECK(is_long() && !is_wounded());
    DCHECK(storage::LockManager::may_write());
    Store::Transaction& work = *t_held.transaction;
    if (work.now != nullptr) store_.give_back(std::move(work.now));
    work.session.end_cursors();
    end_snapshot(work);
    work.is_changing = true;
    is_settled_ = true;
    t_held.is_long = false;
    store_.longs_.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace kv
