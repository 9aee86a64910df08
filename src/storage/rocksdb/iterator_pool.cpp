#include "storage/rocksdb/iterator_pool.h"

#include <utility>

#include "base/dcheck.h"
#include "storage/rocksdb/table_key.h"

namespace rocks {

TableIterator::TableIterator(rocksdb::DB& db, kv::Table table, const rocksdb::Snapshot* snapshot)
    : end_(end_of(table)), end_slice_(end_), is_reusable_(snapshot == nullptr) {
    options_.iterate_upper_bound = &end_slice_;
    options_.snapshot = snapshot;
    rows_.reset(db.NewIterator(options_));
}

bool TableIterator::refresh(kv::Table table) {
    DCHECK(is_reusable_);
    end_ = end_of(table);
    end_slice_ = end_;
    return rows_->Refresh().ok();
}

IteratorPool::Rested IteratorPool::take_rested() {
    constexpr uint64_t kOneSampleIn = 16;
    const std::lock_guard lock(mutex_);
    Rested taken{nullptr, generation_, taken_++ % kOneSampleIn == 0};
    if (rested_.empty()) return taken;
    taken.iterator = std::move(rested_.back());
    rested_.pop_back();
    return taken;
}

// An iterator cannot be refreshed to a snapshot, but only to now. If nothing was committed since
// the snapshot that is the same.
std::unique_ptr<TableIterator> IteratorPool::take(rocksdb::DB& db, kv::Table table,
                                                  const rocksdb::Snapshot* snapshot) {
    const auto is_now = [&] {
        return snapshot == nullptr || db.GetLatestSequenceNumber() == snapshot->GetSequenceNumber();
    };
    if (!is_now()) return std::make_unique<TableIterator>(db, table, snapshot);
    Rested rested = take_rested();
    std::unique_ptr<TableIterator> taken = std::move(rested.iterator);
    if (taken != nullptr && !taken->refresh(table)) taken = nullptr;
    if (taken == nullptr) taken = std::make_unique<TableIterator>(db, table, nullptr);
    taken->generation_ = rested.generation;
    taken->is_sample_ = rested.is_sample;
    taken->moves_ = 0;
    if (is_now()) return taken;
    give_back(std::move(taken));
    return std::make_unique<TableIterator>(db, table, snapshot);
}

void IteratorPool::give_back(std::unique_ptr<TableIterator> iterator) {
    if (!iterator->is_reusable_ || !iterator->rows_->status().ok()) return;
    const std::lock_guard lock(mutex_);
    if (iterator->generation_ == generation_ && rested_.size() < kRestedMax)
        rested_.push_back(std::move(iterator));
}

void IteratorPool::clear() {
    std::vector<std::unique_ptr<TableIterator>> gone;
    gone.reserve(kRestedMax);
    const std::lock_guard lock(mutex_);
    ++generation_;
    gone.swap(rested_);
}

}  // namespace rocks
