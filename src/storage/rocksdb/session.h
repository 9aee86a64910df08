// storage/rocksdb/session.h - the rows of the database as one thread sees them.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "storage/kv/host.h"
#include "storage/kv/map.h"
#include "storage/kv/read_turns.h"
#include "storage/rocksdb/iterator_pool.h"

namespace rocks {

// This many removed rows in the way of a cursor are worth a flush, if they are in memory, and a
// compaction then (configuration.cpp).
constexpr uint64_t kRemovedRowsMany = 10'000;

class Session final : public kv::Session {
  public:
    // Writes a batch, or ends the process.
    using Write = std::function<void(rocksdb::WriteBatch&)>;

    // `walks_far` is set when a cursor has walked over many removed rows to its next one. It, the
    // pool and the turns outlive the cursors.
    Session(rocksdb::DB& db, const kv::Host& host, Write write, IteratorPool& iterators,
            kv::ReadTurns& read_turns, std::atomic<bool>& walks_far)
        : db_(db),
          host_(host),
          write_(std::move(write)),
          iterators_(iterators),
          read_turns_(read_turns),
          walks_far_(walks_far) {}
    ~Session() override { end_snapshot(); }

    void begin_snapshot() override;
    void end_snapshot() override;
    bool get(kv::Table table, kv::Bytes key, kv::Bytes* value) override;
    std::optional<size_t> size_of(kv::Table table, kv::Bytes key) override;
    std::unique_ptr<kv::Cursor> cursor(kv::Table table) override;
    void apply(kv::Batch& changes) override;
    void end_cursors() override;

  private:
    static constexpr uint64_t kNoNumber = std::numeric_limits<uint64_t>::max();

    // Points *value at a row that is next to the one that was read last, without a look from the
    // top; false: it is not, or it is not there.
    bool step_to(kv::Table table, kv::Bytes key, kv::Bytes* value);
    bool find(kv::Table table, kv::Bytes key, rocksdb::PinnableSlice& value);
    // Returns the key of a row in the library, until the next call.
    rocksdb::Slice row_of(kv::Table table, kv::Bytes key);

    rocksdb::DB& db_;
    const kv::Host& host_;
    const Write write_;
    IteratorPool& iterators_;
    kv::ReadTurns& read_turns_;
    std::atomic<bool>& walks_far_;
    rocksdb::WriteBatch batch_;     // of apply(), for its memory
    rocksdb::PinnableSlice found_;  // by get()
    // Of get(): the row that was read last, if its key is a number, and a cursor that stands there,
    // if that row was next to the one before it.
    kv::Table last_table_{};
    uint64_t last_number_ = kNoNumber;
    std::unique_ptr<kv::Cursor> at_last_;
    rocksdb::ReadOptions reading_;  // with the snapshot, if there is one
    std::string row_;               // by row_of()
};

}  // namespace rocks
