#include "storage/kv/record_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/damage.h"
#include "base/dcheck.h"
#include "storage/kv/bytes.h"
#include "storage/kv/large_row.h"

namespace kv {

using storage::Direction;
using storage::Record;
using storage::RecordId;

namespace {

constexpr uint64_t kLastId = std::numeric_limits<uint64_t>::max();

auto row_of(RecordId id) {
    return big_endian(id.value);
}
auto row_of(uint64_t id) {
    return big_endian(id);
}

[[noreturn]] void fail_missing(RecordId id) {
    base::fail(base::Damaged{base::kInternalError}, "there is no record {}", id.value);
}

class RecordCursor final : public storage::RecordCursor {
  public:
    RecordCursor(const RecordStore& store, Direction direction)
        : store_(store), forward_(direction == Direction::forward), next_(forward_ ? 0 : kLastId) {}

    std::optional<Record> next() override {
        if (lost_) return std::nullopt;
        step();
        if (rows_->at_end()) {
            let_go();  // newer records may come
            return std::nullopt;
        }
        row_.hold(rows_->value().size());
        const RecordId id{from_big_endian<uint64_t>(rows_->key())};
        last_ = id;
        // The end of the other direction has no next one.
        next_ = forward_ ? id.value + 1 : id.value - 1;
        return Record{id, bson::Doc(rows_->value().data())};
    }
    void seek(RecordId id) override {
        let_go();
        lost_ = !store_.has(id);
        last_ = id;
        next_ = id.value;
    }
    void save() override { let_go(); }
    bool restore() override {
        if (store_.capped() && last_ && !store_.has(last_)) lost_ = true;
        return !lost_;
    }

  private:
    void let_go() {
        rows_.reset();
        row_.release();
    }
    void step() {
        if (rows_ != nullptr) {
            forward_ ? rows_->next() : rows_->previous();
            return;
        }
        rows_ = store_.session().cursor(store_.table());
        if (forward_)
            rows_->seek(row_of(next_));
        else if (next_ == kLastId)
            rows_->seek_to_last();
        else
            rows_->seek_before(row_of(next_ + 1));
    }

    const RecordStore& store_;
    const bool forward_;
    std::unique_ptr<Cursor> rows_;  // null: saved, or at the end
    LargeRow row_;                  // where rows_ is
    RecordId last_;                 // that was returned or sought
    uint64_t next_;                 // where to go on, itself included
    bool lost_ = false;
};

}  // namespace

RecordStore::RecordStore(Store& store, Table table, const storage::CollectionOptions& options,
                         std::function<void()> table_changed)
    : store_(store),
      table_changed_(std::move(table_changed)),
      capped_bytes_(options.capped ? options.capped_bytes : 0),
      capped_max_(options.capped_max_documents),
      user_flags_(options.capped ? 0 : options.user_flags),
      system_flags_(options.id_index ? 1 : 0),
      counter_(table) {
    store_.read(counter_);
    const auto rows = session().cursor(table);
    rows->seek_to_last();
    if (!rows->at_end()) last_id_ = from_big_endian<uint64_t>(rows->key());
    if (!capped()) return;
    rows->seek({});
    if (!rows->at_end()) first_id_ = from_big_endian<uint64_t>(rows->key());
}

void RecordStore::drop() {
    store_.forget(counter_.table);
    store_.drop(counter_.table);
}

RecordId RecordStore::insert(bson::Doc doc) {
    DCHECK(doc.size() >= static_cast<int32_t>(sizeof(int32_t)) + 1);
    store_.check_space(static_cast<size_t>(doc.size()));
    if (capped()) drop_oldest(doc.size());
    const RecordId id{++last_id_};
    DCHECK(id.value >= first_id_);
    store_.changing().put(table(), row_of(id), doc.bytes());
    store_.count(counter_, 1, doc.size());
    return id;
}

bool RecordStore::lock_record(RecordId id) {
    store_.lock_row(table(), row_of(id));
    return has(id);
}

bool RecordStore::has(RecordId id) const {
    return session().size_of(table(), row_of(id)).has_value();
}

bson::Doc RecordStore::get(RecordId id) const {
    Bytes value;
    if (!session().get(table(), row_of(id), &value)) fail_missing(id);
    store_.note_found(value.size());
    return bson::Doc(value.data());
}

int64_t RecordStore::record_bytes(RecordId id) const {
    const auto bytes = session().size_of(table(), row_of(id));
    if (!bytes) fail_missing(id);
    return static_cast<int64_t>(*bytes);
}

// Checks for space before a change, unlike overwrite().
bool RecordStore::fits(RecordId id, int32_t doc_bytes) const {
    store_.check_space(static_cast<size_t>(doc_bytes));
    return !capped() || doc_bytes <= record_bytes(id);
}

void RecordStore::overwrite(RecordId id, bson::Doc doc) {
    DCHECK(store_.may_change(table(), row_of(id)));
    store_.take_over(table(), row_of(id));
    const int64_t before = record_bytes(id);
    store_.changing().put(table(), row_of(id), doc.bytes());
    store_.count(counter_, 0, doc.size() - before);
}

void RecordStore::overwrite_range(RecordId id, int32_t offset, std::span<const uint8_t> bytes) {
    DCHECK(store_.may_change(table(), row_of(id)));
    // The bytes may lie in what get() has given before.
    const auto row = row_of(id);
    store_.take_over(table(), row);
    const auto rows = session().cursor(table());
    rows->seek(row);
    if (rows->at_end() || !std::ranges::equal(rows->key(), row)) fail_missing(id);
    store_.check_space(rows->value().size());
    bson::Buffer changed;
    changed.append(rows->value().data(), rows->value().size());
    DCHECK(offset >= 0 && static_cast<size_t>(offset) + bytes.size() <= changed.size());
    std::memcpy(changed.data() + offset, bytes.data(), bytes.size());
    store_.changing().put(table(), row, {changed.data(), changed.size()});
}

RecordId RecordStore::insert_moved(RecordId, bson::Doc) {
    base::fail(base::kCannotGrowDocumentInCappedNamespace,
               "failing update: objects in a capped ns cannot grow");  // all others fit
}

void RecordStore::remove(RecordId id) {
    store_.take_over(table(), row_of(id));
    const int64_t bytes = record_bytes(id);
    store_.changing().erase(table(), row_of(id));
    store_.count(counter_, -1, -bytes);
}

std::unique_ptr<storage::RecordCursor> RecordStore::open_cursor(Direction direction) {
    return std::make_unique<RecordCursor>(*this, direction);
}

storage::RecordStoreStats RecordStore::stats() const {
    storage::RecordStoreStats stats;
    const Counts total = store_.total(counter_);
    stats.count = total.rows;
    stats.data_bytes = total.bytes;
    stats.storage_bytes = store_.disk_bytes(counter_);
    stats.system_flags = system_flags_;
    stats.user_flags = user_flags_;
    stats.capped = capped();
    stats.capped_bytes = capped_bytes_;
    stats.capped_max_documents = capped_max_;
    return stats;
}

void RecordStore::truncate() {
    const Table empty = store_.new_table(Kind::documents);
    DCHECK(empty != counter_.table);
    drop();
    counter_.table = empty;
    counter_.rows = counter_.bytes = 0;
    first_id_ = last_id_ + 1;
    table_changed_();
}

void RecordStore::truncate_after(RecordId id, bool inclusive) {
    constexpr int kTruncateEmpties = 13415;
    while (true) {
        const auto rows = session().cursor(table());
        rows->seek_to_last();
        if (rows->at_end()) return;
        const RecordId newest{from_big_endian<uint64_t>(rows->key())};
        if (newest < id || (newest == id && !inclusive)) return;
        if (count() == 1)
            base::fail(kTruncateEmpties, "truncating would leave the collection empty");
        const bson::Object doc(bson::Doc(rows->value().data()));
        drop_record(newest, doc);
    }
}

void RecordStore::drop_oldest(int32_t doc_bytes) {
    constexpr int kTooLargeForCapped = 16328;
    DCHECK(capped() && doc_bytes > 0);
    if (doc_bytes > capped_bytes_)
        base::fail(kTooLargeForCapped,
                   "a document of {} bytes is larger than its capped collection", doc_bytes);
    while (true) {
        const Counts total = store_.total(counter_);
        DCHECK(total.rows >= 0 && total.bytes >= 0);
        if (total.bytes + doc_bytes <= capped_bytes_ &&
            (capped_max_ <= 0 || total.rows < capped_max_))
            return;
        const auto rows = session().cursor(table());
        rows->seek(row_of(first_id_));
        if (rows->at_end()) return;  // the last one has gone
        const RecordId oldest{from_big_endian<uint64_t>(rows->key())};
        const bson::Object doc(bson::Doc(rows->value().data()));
        drop_record(oldest, doc);
        if (!store_.keeps_undo()) first_id_ = oldest.value + 1;
    }
}

void RecordStore::drop_record(RecordId id, bson::Doc doc) {
    if (before_removal_) before_removal_({id, doc});
    remove(id);
}

}  // namespace kv
