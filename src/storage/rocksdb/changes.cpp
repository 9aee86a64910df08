#include "storage/rocksdb/changes.h"

#include <utility>

#include "base/dcheck.h"
#include "storage/kv/large_row.h"
#include "storage/rocksdb/status.h"

namespace rocks {

using rocksdb::Slice;
using rocksdb::Status;

namespace {

rocksdb::WriteBatchWithIndex new_indexed() {
    constexpr size_t kReservedBytes = 0, kNoLimit = 0;
    return rocksdb::WriteBatchWithIndex(rocksdb::BytewiseComparator(), kReservedBytes,
                                        true /* a later change of a row replaces the former */,
                                        kNoLimit);
}

// Makes the changes of a batch, with its marks, once more in another one.
class Again final : public rocksdb::WriteBatch::Handler {
  public:
    Again(rocksdb::WriteBatchBase& to, const std::vector<uint32_t>& marks)
        : to_(to), marks_(marks) {
        mark();
    }
    Status PutCF(uint32_t, const Slice& row, const Slice& value) override {
        return made(to_.Put(row, value));
    }
    Status DeleteCF(uint32_t, const Slice& row) override { return made(to_.Delete(row)); }

  private:
    Status made(const Status& status) {
        ++changes_;
        mark();
        return status;
    }
    void mark() {
        for (; marked_ < marks_.size() && marks_[marked_] == changes_; ++marked_)
            to_.SetSavePoint();
    }

    rocksdb::WriteBatchBase& to_;
    const std::vector<uint32_t>& marks_;
    size_t marked_ = 0;
    uint32_t changes_ = 0;
};

}  // namespace

Changes::Changes(const kv::Host& host) : host_(host), indexed_(new_indexed()) {}

void Changes::put(const Slice& row, const Slice& value) {
    if (kv::LargeRow::is_large(value.size())) reserve(row.size() + value.size());
    check(host_, now_->Put(row, value));
}

void Changes::erase(const Slice& row) {
    check(host_, now_->Delete(row));
}

// Behind a large row a batch would double.
void Changes::reserve(size_t more_bytes) {
    is_large_ = true;
    const size_t needed = bytes() + more_bytes;
    if (now_ != &plain_ || needed <= plain_.Data().capacity()) return;
    rocksdb::WriteBatch larger(needed + needed / 8);
    Again again(larger, marks_);
    check(host_, plain_.Iterate(&again));
    plain_ = std::move(larger);
}

rocksdb::WriteBatchWithIndex& Changes::indexed() {
    if (now_ == &indexed_) return indexed_;
    indexed_.Clear();
    Again again(indexed_, marks_);
    check(host_, plain_.Iterate(&again));
    DCHECK(indexed_.GetWriteBatch()->Count() == plain_.Count());
    now_ = &indexed_;
    return indexed_;
}

void Changes::mark() {
    marks_.push_back(batch().Count());
    now_->SetSavePoint();
}

void Changes::roll_back() {
    is_large_ |= kv::LargeRow::is_large(bytes());
    marks_.pop_back();
    const Status status = now_->RollbackToSavePoint();
    if (!status.ok()) end_process(host_, "RocksDB cannot roll back: " + status.ToString());
}

void Changes::forget_mark() {
    marks_.pop_back();
    check(host_, now_->PopSavePoint());
}

void Changes::clear() {
    DCHECK(marks_.empty());
    const bool is_large = std::exchange(is_large_, false) || kv::LargeRow::is_large(bytes());
    if (now_ == &indexed_) {
        indexed_.Clear();
        if (is_large) indexed_ = new_indexed();
    }
    plain_.Clear();
    if (is_large) plain_ = rocksdb::WriteBatch();
    now_ = &plain_;
}

}  // namespace rocks
