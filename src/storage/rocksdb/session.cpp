#include "storage/rocksdb/session.h"

#include <rocksdb/perf_context.h>

#include <algorithm>
#include <utility>

#include "base/dcheck.h"
#include "storage/rocksdb/status.h"
#include "storage/rocksdb/table_key.h"

namespace rocks {

using kv::Bytes;
using kv::Table;
using rocksdb::PinnableSlice;
using rocksdb::Slice;

namespace {

class Cursor final : public kv::Cursor {
  public:
    // Without a batch: the rows of the database alone. `snapshot`: as they were then; null: now.
    Cursor(rocksdb::DB& db, const kv::Host& host, rocksdb::WriteBatchWithIndex* batch,
           const rocksdb::Snapshot* snapshot, Table table, std::atomic<bool>& walks_far)
        : host_(host), table_(table), end_(end_of(table)), end_slice_(end_), walks_far_(walks_far) {
        options_.iterate_upper_bound = &end_slice_;
        options_.snapshot = snapshot;
        rocksdb::Iterator* rows = db.NewIterator(options_);
        if (batch != nullptr)
            rows = batch->NewIteratorWithBase(db.DefaultColumnFamily(), rows, &options_);
        rows_.reset(rows);
    }

    void seek(Bytes key) override {
        move([&] { rows_->Seek(table_key(table_, key)); });
    }
    void seek_before(Bytes key) override { seek_before(table_key(table_, key)); }
    void seek_to_last() override { seek_before(end_); }
    bool at_end() const override { return !is_at_row_; }
    void next() override {
        DCHECK(is_at_row_);
        move([this] { rows_->Next(); });
    }
    void previous() override {
        DCHECK(is_at_row_);
        move([this] { rows_->Prev(); });
    }
    Bytes key() const override {
        DCHECK(is_at_row_);
        return as_bytes(rows_->key()).subspan(kTableBytes);
    }
    Bytes value() const override {
        DCHECK(is_at_row_);
        return as_bytes(rows_->value());
    }

  private:
    void seek_before(const std::string& key) {
        move([&] {
            rows_->SeekForPrev(key);
            if (rows_->Valid() && rows_->key() == Slice(key)) rows_->Prev();
        });
    }
    template <typename Move>
    void move(const Move& to_row) {
        const uint64_t& skipped = rocksdb::get_perf_context()->internal_delete_skipped_count;
        const uint64_t before = skipped;
        to_row();
        if (skipped - before >= kRemovedRowsMany) walks_far_.store(true, std::memory_order_relaxed);
        look();
    }
    // The batch has rows of other tables too, which no bound keeps away.
    void look() {
        is_at_row_ = rows_->Valid() && rows_->key().starts_with(table_key(table_));
        if (!rows_->Valid()) check(host_, rows_->status());
    }

    const kv::Host& host_;
    const Table table_;
    const std::string end_;
    const Slice end_slice_;
    rocksdb::ReadOptions options_;
    std::atomic<bool>& walks_far_;
    std::unique_ptr<rocksdb::Iterator> rows_;
    bool is_at_row_ = false;
};

}  // namespace

std::unique_ptr<Session::Batch> Session::new_batch() {
    constexpr size_t kReservedBytes = 0, kNoLimit = 0;
    return std::make_unique<Batch>(rocksdb::BytewiseComparator(), kReservedBytes,
                                   true /* a later change of a key replaces the former */,
                                   kNoLimit);
}

void Session::begin_snapshot() {
    DCHECK(snapshot_ == nullptr && changed_.empty());
    snapshot_ = db_.GetSnapshot();
}

void Session::end_snapshot() {
    if (snapshot_ != nullptr) db_.ReleaseSnapshot(std::exchange(snapshot_, nullptr));
}

bool Session::find(Table table, Bytes key, PinnableSlice& value) {
    const std::string row = table_key(table, key);  // the key may lie in the value
    value.Reset();
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    const rocksdb::Status status = batch_->GetFromBatchAndDB(&db_, options, row, &value);
    if (status.IsNotFound()) return false;
    check(host_, status);
    return true;
}

bool Session::get(Table table, Bytes key, Bytes* value) {
    if (!find(table, key, found_)) return false;
    *value = as_bytes(found_);
    return true;
}

std::optional<size_t> Session::size_of(Table table, Bytes key) {
    PinnableSlice value;
    if (!find(table, key, value)) return std::nullopt;
    return value.size();
}

void Session::put(Table table, Bytes key, Bytes value) {
    DCHECK(snapshot_ == nullptr && !key.empty());
    check(host_, batch_->Put(table_key(table, key), as_slice(value)));
    note_change(table);
}

void Session::erase(Table table, Bytes key) {
    DCHECK(snapshot_ == nullptr);
    check(host_, batch_->Delete(table_key(table, key)));
    note_change(table);
}

void Session::note_change(Table table) {
    if (std::ranges::find(changed_, table) == changed_.end()) changed_.push_back(table);
}

std::unique_ptr<kv::Cursor> Session::cursor(Table table) {
    const bool is_changed = std::ranges::find(changed_, table) != changed_.end();
    return std::make_unique<Cursor>(db_, host_, is_changed ? batch_.get() : nullptr, snapshot_,
                                    table, walks_far_);
}

size_t Session::changed_bytes() const {
    return changed_.empty() ? 0 : batch_->GetDataSize();
}

void Session::mark() {
    marks_.push_back(changed_.size());
    batch_->SetSavePoint();
}

void Session::roll_back() {
    changed_.resize(marks_.back());
    marks_.pop_back();
    const rocksdb::Status status = batch_->RollbackToSavePoint();
    if (!status.ok()) end_process(host_, "RocksDB cannot roll back: " + status.ToString());
}

void Session::forget_mark() {
    marks_.pop_back();
    check(host_, batch_->PopSavePoint());
}

void Session::commit() {
    if (changed_.empty()) return;
    DCHECK(snapshot_ == nullptr);
    write_(*batch_->GetWriteBatch());
    constexpr size_t kKeptBytes = size_t{1} << 20;
    if (batch_->GetDataSize() > kKeptBytes)
        batch_ = new_batch();
    else
        batch_->Clear();
    changed_.clear();
}

}  // namespace rocks
