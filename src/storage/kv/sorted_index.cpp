#include "storage/kv/sorted_index.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "bson/compare.h"
#include "sched/tick.h"
#include "storage/keys/key_encoding.h"
#include "storage/keys/key_length.h"
#include "storage/kv/bytes.h"

namespace kv {

using storage::Direction;
using storage::InsertResult;
using storage::RecordId;

namespace {

constexpr size_t kIdBytes = sizeof(uint64_t);

// A key, with its record behind it or not, in buffers of the thread: one at a time.
class Row {
  public:
    Row(bson::Doc key, uint32_t descending) : key_(buffers().key), types_(buffers().types) {
        key_.clear();
        types_.clear();
        keys::encode(key, descending, key_, types_);
    }
    Row(bson::Doc key, uint32_t descending, RecordId id) : Row(key, descending) { append(id); }
    ~Row() {
        constexpr size_t kKeptBytes = 4096;
        key_.trim(kKeptBytes);
        types_.trim(kKeptBytes);
    }
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;
    void append(uint8_t byte) { key_.append_byte(byte); }
    void append(RecordId id) {
        const auto bytes = big_endian(id.value);
        key_.append(bytes.data(), bytes.size());
    }

    Bytes key() const { return {key_.data(), key_.size()}; }
    Bytes types() const { return {types_.data(), types_.size()}; }

  private:
    struct Buffers {
        bson::Buffer key, types;
    };
    static Buffers& buffers() { return base::thread_scratch<Buffers>(); }
    bson::Buffer& key_;
    bson::Buffer& types_;
};

Bytes key_part(Bytes row) {
    DCHECK(row.size() > kIdBytes);
    return row.first(row.size() - kIdBytes);
}
RecordId id_part(Bytes row) {
    return RecordId{from_big_endian<uint64_t>(row.last(kIdBytes))};
}

// Compares the first fields of `key`, as many as `wanted` has.
int compare_front(bson::Doc key, bson::Doc wanted, uint32_t descending) {
    auto value = key.begin();
    for (const bson::Element& each : wanted) {
        const int c = bson::compare_values(*value, each);
        if (c != 0) return (descending & 1) != 0 ? -c : c;
        descending >>= 1;
        ++value;
    }
    return 0;
}

class IndexCursor final : public storage::IndexCursor {
  public:
    IndexCursor(const SortedIndex& index, Direction direction)
        : index_(index), forward_(direction == Direction::forward) {}

    void seek(bson::Doc key, bool past) override {
        open();
        if (seek_wide(key, past)) return;
        Row row(key, index_.descending());
        if (past == forward_) row.append(keys::kPast);
        place(row.key());
    }
    void seek_to_start() override {
        open();
        forward_ ? rows_->seek({}) : rows_->seek_to_last();
    }
    bool at_end() const override { return rows_ == nullptr || rows_->at_end(); }
    void next() override {
        DCHECK(!at_end());
        is_decoded_ = false;
        forward_ ? rows_->next() : rows_->previous();
    }
    bson::Doc key() override {
        DCHECK(!at_end());
        if (!is_decoded_) {
            key_.clear();
            keys::decode(key_part(rows_->key()), rows_->value(), index_.descending(), key_);
            is_decoded_ = true;
        }
        return bson::Doc(key_.data());
    }
    RecordId id() const override {
        DCHECK(!at_end());
        return id_part(rows_->key());
    }
    void save() override {
        is_decoded_ = false;
        saved_.reset();
        if (!at_end()) saved_.emplace(rows_->key().begin(), rows_->key().end());
        rows_.reset();
    }
    bool restore() override {
        if (!saved_) return true;
        open();
        if (!forward_) saved_->push_back(0);  // right behind it
        place(*saved_);
        if (!forward_) saved_->pop_back();
        return !at_end() && std::ranges::equal(rows_->key(), *saved_);
    }

  private:
    void open() {
        is_decoded_ = false;
        rows_ = index_.session().cursor(index_.table());
    }
    // Forward at the first row from there on, backward at the last one before.
    void place(Bytes at) { forward_ ? rows_->seek(at) : rows_->seek_before(at); }

    // From 2^53 on the rows are in exact order and the values asked for may equal several: begins
    // before all of these and goes on to the first that counts. False: there is no such number.
    bool seek_wide(bson::Doc key, bool past) {
        bson::Builder front;
        uint32_t bits = index_.descending();
        for (const bson::Element& each : key) {
            const bool low = forward_ == ((bits & 1) == 0);
            const auto end = keys::wide_end(each, low ? keys::Side::low : keys::Side::high);
            if (!end) {
                front.append_as("", each);
                bits >>= 1;
                continue;
            }
            front.append("", *end);
            Row row(front.doc(), index_.descending());
            if (!forward_) row.append(keys::kPast);
            place(row.key());
            skip(key, past);
            return true;
        }
        return false;
    }
    void skip(bson::Doc wanted, bool past) {
        for (; !at_end(); next()) {
            sched::tick();
            const int c = compare_front(key(), wanted, index_.descending());
            const bool is_before = c == 0 ? past : (c < 0) == forward_;
            if (!is_before) return;
        }
    }

    const SortedIndex& index_;
    const bool forward_;
    std::unique_ptr<Cursor> rows_;  // null: saved, or nothing sought yet
    std::optional<std::vector<uint8_t>> saved_;
    bson::Buffer key_;
    bool is_decoded_ = false;
};

class BulkBuilder final : public storage::BulkBuilder {
  public:
    BulkBuilder(SortedIndex& index, bool duplicates_allowed)
        : index_(index), duplicates_allowed_(duplicates_allowed) {}
    InsertResult add(bson::Doc key, RecordId id) override {
        index_.check_space();
        return index_.insert(key, id, duplicates_allowed_);
    }
    void finish() override {}

  private:
    SortedIndex& index_;
    const bool duplicates_allowed_;
};

}  // namespace

SortedIndex::SortedIndex(Store& store, Table table, uint32_t descending)
    : store_(store), table_(table), descending_(descending) {}

// A version before this one has counted the rows of indexes.
void SortedIndex::drop() {
    store_.forget(table_);
    store_.drop(table_);
}

// Asks for no space: its record has asked.
InsertResult SortedIndex::insert(bson::Doc key, RecordId id, bool duplicates_allowed) {
    DCHECK(id);
    if (too_long(key)) return InsertResult::too_long;
    Overlay& rows = store_.changing();
    Row row(key, descending_);
    constexpr size_t kLarge = size_t{64} << 10;
    if (row.key().size() > kLarge) store_.check_commit(row.key().size());
    if (!duplicates_allowed) {
        store_.lock_row(table_, row.key());
        if (first_of(row.key())) return InsertResult::duplicate;
    }
    row.append(id);
    rows.put(table_, row.key(), row.types());
    return InsertResult::inserted;
}

bool SortedIndex::remove(bson::Doc key, RecordId id) {
    Overlay& rows = store_.changing();
    const Row row(key, descending_, id);
    DCHECK(id);
    if (!rows.size_of(table_, row.key())) return false;
    rows.erase(table_, row.key());
    return true;
}

bool SortedIndex::has_duplicate(bson::Doc key, RecordId self) const {
    const Row row(key, descending_);
    if (storage::LockManager::may_write()) store_.lock_row(table_, row.key());
    const auto rows = session().cursor(table_);
    for (rows->seek(row.key()); !rows->at_end(); rows->next()) {
        if (!std::ranges::equal(key_part(rows->key()), row.key())) return false;
        if (id_part(rows->key()) != self) return true;
    }
    return false;
}

RecordId SortedIndex::find_one(bson::Doc key) const {
    const Row row(key, descending_);
    return first_of(row.key());
}

RecordId SortedIndex::first_of(Bytes key) const {
    const auto rows = session().cursor(table_);
    rows->seek(key);
    if (rows->at_end() || !std::ranges::equal(key_part(rows->key()), key)) return {};
    return id_part(rows->key());
}

int64_t SortedIndex::insertion_bytes(int64_t /*keys*/, int64_t key_bytes) const {
    return key_bytes;
}

// The rows themselves may be as long as documents.
bool SortedIndex::too_long(bson::Doc key) const {
    return store_.refuses_long() && keys::key_length(key) > keys::kKeyLengthMax;
}

std::unique_ptr<storage::IndexCursor> SortedIndex::cursor(Direction direction) const {
    return std::make_unique<IndexCursor>(*this, direction);
}

std::unique_ptr<storage::BulkBuilder> SortedIndex::bulk_builder(bool duplicates_allowed) {
    return std::make_unique<BulkBuilder>(*this, duplicates_allowed);
}

int64_t SortedIndex::validate(const std::function<void(const std::string&)>& errors) const {
    int64_t entries = 0;
    bson::Buffer key;
    const auto rows = session().cursor(table_);
    for (rows->seek({}); !rows->at_end(); rows->next()) {
        sched::tick();
        ++entries;
        try {
            if (rows->key().size() <= kIdBytes) base::fail(base::kInternalError, "no key");
            key.clear();
            keys::decode(key_part(rows->key()), rows->value(), descending_, key);
        } catch (const base::Error& error) {
            if (error.code() != base::kInternalError) throw;
            errors(fmt::format("entry {}: {}", entries, error.what()));
        }
    }
    return entries;
}

int64_t SortedIndex::storage_bytes() const {
    constexpr int64_t kBlockBytes = 4096;  // at least, also of a map that does not say
    return std::max(store_.map().disk_bytes(table_).value_or(0), kBlockBytes);
}

}  // namespace kv
