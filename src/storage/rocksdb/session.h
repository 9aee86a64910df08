// storage/rocksdb/session.h - rows as one thread sees them: those of the database, and the batch of
// its changes over them.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <functional>
#include <vector>

#include "storage/ordered/host.h"
#include "storage/ordered/map.h"

namespace rocks {

class Session final : public ordered::Session {
  public:
    // Writes a batch, or ends the process.
    using Write = std::function<void(rocksdb::WriteBatch&)>;

    Session(rocksdb::DB& db, const ordered::Host& host, Write write)
        : db_(db), host_(host), write_(std::move(write)), batch_(new_batch()) {}
    ~Session() override { thaw(); }

    void freeze() override;
    void thaw() override;
    bool get(ordered::Table table, ordered::Bytes key, ordered::Bytes* value) override;
    std::optional<size_t> size_of(ordered::Table table, ordered::Bytes key) override;
    void put(ordered::Table table, ordered::Bytes key, ordered::Bytes value) override;
    void erase(ordered::Table table, ordered::Bytes key) override;
    std::unique_ptr<ordered::Cursor> cursor(ordered::Table table) override;
    size_t changed_bytes() const override;
    void commit() override;

  private:
    using Batch = rocksdb::WriteBatchWithIndex;

    static std::unique_ptr<Batch> new_batch();
    bool find(ordered::Table table, ordered::Bytes key, rocksdb::PinnableSlice& value);
    void note_change(ordered::Table table);

    rocksdb::DB& db_;
    const ordered::Host& host_;
    const Write write_;
    std::unique_ptr<Batch> batch_;
    std::vector<ordered::Table> changed_;  // since the last commit
    rocksdb::PinnableSlice found_;         // by get()
    const rocksdb::Snapshot* frozen_ = nullptr;
};

}  // namespace rocks
