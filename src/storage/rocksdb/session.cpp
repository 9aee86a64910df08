#include "storage/rocksdb/session.h"

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/dcheck.h"
#include "storage/kv/bytes.h"
#include "storage/kv/large_row.h"
#include "storage/rocksdb/status.h"
#include "storage/rocksdb/table_key.h"

namespace rocks {

using kv::Bytes;
using kv::Table;
using rocksdb::PinnableSlice;
using rocksdb::Slice;

namespace {

// The library counts for the calling thread what it does, comparisons among it, if it is not told
// otherwise.
void count_nothing() {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
}

class Cursor final : public kv::Cursor {
  public:
    Cursor(const kv::Host& host, Table table, std::unique_ptr<TableIterator> rows,
           IteratorPool& iterators, kv::ReadTurns& read_turns, std::atomic<bool>& walks_far)
        : host_(host),
          begin_(table_key(table)),
          iterators_(iterators),
          read_turns_(read_turns),
          walks_far_(walks_far),
          rows_(std::move(rows)) {}
    ~Cursor() override { iterators_.give_back(std::move(rows_)); }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    void seek(Bytes key) override {
        const std::string row = row_of(key);
        move([&] { rows()->Seek(row); });
    }
    void seek_before(Bytes key) override { seek_before(row_of(key)); }
    void seek_to_last() override { seek_before(rows().end()); }
    bool at_end() const override { return !is_at_row_; }
    void next() override {
        DCHECK(is_at_row_);
        move([this] { rows()->Next(); });
    }
    void previous() override {
        DCHECK(is_at_row_);
        move([this] { rows()->Prev(); });
    }
    Bytes key() const override {
        DCHECK(is_at_row_);
        return as_bytes(rows()->key()).subspan(kTableBytes);
    }
    Bytes value() const override {
        DCHECK(is_at_row_);
        const Slice value = rows()->value();
        rows().note_value(value.size());
        return as_bytes(value);
    }

  private:
    TableIterator& rows() const { return *rows_; }
    std::string row_of(Bytes key) const {
        std::string row = begin_;
        return row.append(kv::as_text(key));
    }
    void seek_before(const std::string& row) {
        move([&] {
            rows()->SeekForPrev(row);
            if (rows()->Valid() && rows()->key() == Slice(row)) rows()->Prev();
        });
    }
    template <typename Move>
    void move(const Move& to_row) {
        const auto turn = read_turns_.take();
        if (rows().counts_removed()) {
            rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
            const uint64_t& skipped = rocksdb::get_perf_context()->internal_delete_skipped_count;
            const uint64_t before = skipped;
            to_row();
            if (skipped - before >= kRemovedRowsMany)
                walks_far_.store(true, std::memory_order_relaxed);
            count_nothing();
        } else {
            count_nothing();
            to_row();
        }
        look();
    }
    // No bound keeps the table before this one away.
    void look() {
        const bool is_valid = rows()->Valid();
        is_at_row_ = is_valid && rows()->key().starts_with(begin_);
        if (!is_valid) check(host_, rows()->status());
    }

    const kv::Host& host_;
    const std::string begin_;  // of the keys of the table
    IteratorPool& iterators_;
    kv::ReadTurns& read_turns_;
    std::atomic<bool>& walks_far_;
    std::unique_ptr<TableIterator> rows_;
    bool is_at_row_ = false;
};

}  // namespace

void Session::begin_snapshot() {
    DCHECK(reading_.snapshot == nullptr);
    reading_.snapshot = db_.GetSnapshot();
}

void Session::end_snapshot() {
    last_number_ = kNoNumber;
    if (reading_.snapshot != nullptr)
        db_.ReleaseSnapshot(std::exchange(reading_.snapshot, nullptr));
}

void Session::end_cursors() {
    last_number_ = kNoNumber;
    at_last_.reset();
}

Slice Session::row_of(Table table, Bytes key) {
    begin_row(table, row_);
    row_.append(kv::as_text(key));
    return row_;
}

bool Session::find(Table table, Bytes key, PinnableSlice& value) {
    const Slice row = row_of(table, key);  // the key may lie in the value
    count_nothing();
    value.Reset();
    const auto turn = read_turns_.take();
    const rocksdb::Status status = db_.Get(reading_, db_.DefaultColumnFamily(), row, &value);
    if (status.IsNotFound()) return false;
    check(host_, status);
    return true;
}

// Records are often read in the order of their numbers. In a snapshot a cursor finds the next one
// for a tenth of the price.
bool Session::step_to(Table table, Bytes key, Bytes* value) {
    constexpr uint64_t kNear = 4;
    if (reading_.snapshot == nullptr || key.size() != sizeof(uint64_t)) {
        last_number_ = kNoNumber;
        return false;
    }
    const auto number = kv::from_big_endian<uint64_t>(key);  // the key may lie in the last value
    const bool is_next =
        table == last_table_ && number > last_number_ && number - last_number_ <= kNear;
    last_table_ = table;
    last_number_ = number;
    if (!is_next) {
        at_last_.reset();
        return false;
    }
    const auto row = kv::big_endian(number);
    if (at_last_ == nullptr) {
        at_last_ = cursor(table);
        at_last_->seek(row);
    }
    while (!at_last_->at_end() && std::ranges::lexicographical_compare(at_last_->key(), row))
        at_last_->next();
    if (at_last_->at_end() || !std::ranges::equal(at_last_->key(), row)) {
        last_number_ = kNoNumber;
        return false;
    }
    *value = at_last_->value();
    return true;
}

bool Session::get(Table table, Bytes key, Bytes* value) {
    if (step_to(table, key, value)) return true;
    if (!find(table, key, found_)) return false;
    *value = as_bytes(found_);
    return true;
}

std::optional<size_t> Session::size_of(Table table, Bytes key) {
    PinnableSlice value;
    if (!find(table, key, value)) return std::nullopt;
    return value.size();
}

std::unique_ptr<kv::Cursor> Session::cursor(Table table) {
    return std::make_unique<Cursor>(host_, table, iterators_.take(db_, table, reading_.snapshot),
                                    iterators_, read_turns_, walks_far_);
}

// What was taken cannot be undone. A batch grows by doubling if it does not know how large it will
// be, and is there twice until all of it was taken: where there is little memory one at a time.
void Session::apply(kv::Batch& changes) try {
    constexpr size_t kHeadBytes = 12;
    DCHECK(reading_.snapshot == nullptr);
    DCHECK(batch_.Count() == 0);
    count_nothing();
    const bool is_large = kv::LargeRow::is_large(changes.bytes());
    if (is_large) batch_ = rocksdb::WriteBatch(kHeadBytes + changes.bytes());
    {
        const auto turn = is_large ? read_turns_.take() : std::unique_lock<std::mutex>();
        changes.take([this](const kv::Change& change) {
            DCHECK(!change.key.empty());
            const Slice row = row_of(change.table, change.key);
            check(host_,
                  change.value ? batch_.Put(row, as_slice(*change.value)) : batch_.Delete(row));
        });
    }
    DCHECK(batch_.GetDataSize() <= kHeadBytes + changes.bytes());
    write_(batch_);
    batch_.Clear();
    if (is_large) batch_ = rocksdb::WriteBatch();
} catch (const std::exception& error) {
    end_process(host_, std::string("RocksDB cannot commit: ") + error.what());
}

}  // namespace rocks
