// storage/mmapv1/space/record_cursor.h - natural order scans, and how they survive removals.
//
// Every open cursor is listed with its store. Before a record goes away the store tells the list;
// a cursor that stands on it moves to the record behind it, or is lost where that makes no sense (a
// capped ring that overtook it, records rewritten by compact).
#pragma once

#include <memory>
#include <mutex>

#include "storage/mmapv1/space/namespace_storage.h"
#include "storage/mmapv1/space/read_ahead.h"
#include "storage/record_store.h"

namespace mmapv1 {

class NaturalCursor;

// Shared by a store and its cursors: a cursor may be destroyed later than the store and without any
// lock.
class CursorList {
  public:
    // Exclusive lock. `loc` is about to be unlinked.
    void before_removal(const NamespaceStorage& storage, DiskLoc loc);
    // Exclusive lock. No position means anything any more.
    void invalidate_all();
    // The store goes away.
    void detach_all();

  private:
    friend class NaturalCursor;
    // The removal before which it stood at that place is taken back.
    void stand_again(const NaturalCursor* cursor, DiskLoc at, bool returned);

    std::mutex mutex_;
    NaturalCursor* head_ = nullptr;  // guarded by mutex_
};

class NaturalCursor final : public storage::RecordCursor {
  public:
    NaturalCursor(const NamespaceStorage& storage, std::shared_ptr<CursorList> list,
                  storage::Direction direction);
    ~NaturalCursor() override;
    NaturalCursor(const NaturalCursor&) = delete;
    NaturalCursor& operator=(const NaturalCursor&) = delete;

    std::optional<storage::Record> next() override;
    void seek(storage::RecordId id) override;
    void save() override {}
    bool restore() override { return storage_ != nullptr && !lost_; }

  private:
    friend class CursorList;
    void record_goes(DiskLoc loc);
    void count(int32_t document_bytes);

    const NamespaceStorage* storage_;  // null once the store is gone
    std::shared_ptr<CursorList> list_;
    storage::Direction direction_;
    DiskLoc at_ = DiskLoc::null();  // last record returned, or the next one to return
    bool started_ = false;
    bool returned_ = false;  // at_ has been returned
    bool lost_ = false;
    int64_t passed_ = 0;   // since the start or the last end, see count()
    int64_t look_at_ = 0;  // when that is so much
    ReadAhead ahead_;
    NaturalCursor* next_ = nullptr;  // in the list
    NaturalCursor* prev_ = nullptr;
};

}  // namespace mmapv1
