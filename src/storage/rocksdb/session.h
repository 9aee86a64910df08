// storage/rocksdb/session.h - rows as one thread sees them: those of the database, and the batch of
// its changes over them.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <atomic>
#include <functional>
#include <vector>

#include "storage/kv/host.h"
#include "storage/kv/map.h"

namespace rocks {

// This many removed rows in the way of a cursor are worth a flush, if they are in memory, and a
// compaction then (configuration.cpp).
constexpr uint64_t kRemovedRowsMany = 10'000;

class Session final : public kv::Session {
  public:
    // Writes a batch, or ends the process.
    using Write = std::function<void(rocksdb::WriteBatch&)>;

    // `walks_far` is set when a cursor has walked over many removed rows to its next one; it
    // outlives the cursors.
    Session(rocksdb::DB& db, const kv::Host& host, Write write, std::atomic<bool>& walks_far)
        : db_(db),
          host_(host),
          write_(std::move(write)),
          walks_far_(walks_far),
          batch_(new_batch()) {}
    ~Session() override { end_snapshot(); }

    void begin_snapshot() override;
    void end_snapshot() override;
    bool get(kv::Table table, kv::Bytes key, kv::Bytes* value) override;
    std::optional<size_t> size_of(kv::Table table, kv::Bytes key) override;
    void put(kv::Table table, kv::Bytes key, kv::Bytes value) override;
    void erase(kv::Table table, kv::Bytes key) override;
    std::unique_ptr<kv::Cursor> cursor(kv::Table table) override;
    size_t changed_bytes() const override;
    void mark() override;
    void roll_back() override;
    void forget_mark() override;
    void commit() override;

  private:
    using Batch = rocksdb::WriteBatchWithIndex;

    static std::unique_ptr<Batch> new_batch();
    bool find(kv::Table table, kv::Bytes key, rocksdb::PinnableSlice& value);
    void note_change(kv::Table table);

    rocksdb::DB& db_;
    const kv::Host& host_;
    const Write write_;
    std::atomic<bool>& walks_far_;
    std::unique_ptr<Batch> batch_;
    std::vector<kv::Table> changed_;  // since the last commit
    std::vector<size_t> marks_;       // how many tables had changed then
    rocksdb::PinnableSlice found_;    // by get()
    const rocksdb::Snapshot* snapshot_ = nullptr;
};

}  // namespace rocks
