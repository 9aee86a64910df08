// storage/rocksdb/changes.h - what a session has changed since its last commit: a batch of the
// library. Most changes are never read before they are committed, and an index of their rows costs
// more than they do: the batch gets one only when the session reads what it has changed.
#pragma once

#include <rocksdb/utilities/write_batch_with_index.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <vector>

#include "storage/kv/host.h"

namespace rocks {

class Changes {
  public:
    explicit Changes(const kv::Host& host);
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;

    void put(const rocksdb::Slice& row, const rocksdb::Slice& value);
    void erase(const rocksdb::Slice& row);
    size_t bytes() const { return now_->GetWriteBatch()->GetDataSize(); }
    // See kv::Session.
    void mark();
    void roll_back();
    void forget_mark();
    void clear();

    rocksdb::WriteBatch& batch() { return *now_->GetWriteBatch(); }
    // The same with an index, until clear().
    rocksdb::WriteBatchWithIndex& indexed();

  private:
    void reserve(size_t more_bytes);

    const kv::Host& host_;
    rocksdb::WriteBatch plain_;
    rocksdb::WriteBatchWithIndex indexed_;
    rocksdb::WriteBatchBase* now_ = &plain_;  // that of the two which has the changes
    std::vector<uint32_t> marks_;             // after how many changes
    bool is_large_ = false;                   // or was, since clear()
};

}  // namespace rocks
