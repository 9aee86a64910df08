// storage/rocksdb/iterator_pool.h - iterators of the library that are used again: a refresh costs a
// tenth of what it costs to make one.
//
// An iterator keeps the memtables and files that were there when it was made or refreshed. Those at
// rest go whenever some of these may have gone, so that the pool keeps nothing for long.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/kv/map.h"

namespace rocks {

// An iterator of the library that ends with a table.
class TableIterator {
  public:
    // `snapshot`: with the rows as they were then; null: as they are now.
    TableIterator(rocksdb::DB& db, kv::Table table, const rocksdb::Snapshot* snapshot);
    TableIterator(const TableIterator&) = delete;
    TableIterator& operator=(const TableIterator&) = delete;

    rocksdb::Iterator* operator->() const { return rows_.get(); }
    const std::string& end() const { return end_; }
    // Whether the library shall count the removed rows that the next move walks over. Counting
    // costs something with each comparison: a few moves of one iterator in so many do without it.
    bool counts_removed() {
        constexpr uint64_t kFewMoves = 32;
        return is_sample_ || ++moves_ > kFewMoves;
    }
    // A row of that size was shown: the iterator keeps its block, and a large one is not worth it.
    void note_value(size_t bytes) {
        constexpr size_t kLarge = size_t{64} << 10;
        is_reusable_ = is_reusable_ && bytes < kLarge;
    }

  private:
    friend class IteratorPool;
    // Shows the rows of that table as they are now; its place is lost. False: it cannot.
    bool refresh(kv::Table table);

    std::string end_;           // the key at which the rows of the next table begin
    rocksdb::Slice end_slice_;  // of end_, which the library looks at with each seek
    rocksdb::ReadOptions options_;
    std::unique_ptr<rocksdb::Iterator> rows_;
    bool is_sample_ = true;
    uint64_t moves_ = 0;
    bool is_reusable_;         // it has no snapshot
    uint64_t generation_ = 0;  // of the pool when it was taken
};

// Calls come from any thread.
class IteratorPool {
  public:
    IteratorPool() { rested_.reserve(kRestedMax); }
    // Returns an iterator over the rows of the moment of the snapshot; null: of now.
    std::unique_ptr<TableIterator> take(rocksdb::DB& db, kv::Table table,
                                        const rocksdb::Snapshot* snapshot);
    void give_back(std::unique_ptr<TableIterator> iterator);
    // Ends those at rest; those in use end when they are given back.
    void clear();

  private:
    static constexpr size_t kRestedMax = 32;

    struct Rested {
        std::unique_ptr<TableIterator> iterator;  // null: there is none
        uint64_t generation;
        bool is_sample;
    };
    Rested take_rested();

    std::mutex mutex_;
    uint64_t taken_ = 0;                                  // guarded by mutex_
    std::vector<std::unique_ptr<TableIterator>> rested_;  // guarded by mutex_; the last one is warm
    uint64_t generation_ = 0;                             // guarded by mutex_: calls of clear()
};

}  // namespace rocks
