// catalog/ring_marks.h - where in a capped collection the documents of a time stand, for those that
// read it from a time on: an oplog has no index, and its readers begin anew at the last `ts` that
// they have seen.
//
// A mark is the record of a document and its `ts` (a Timestamp). There is one about every
// kBytesApart of documents, in memory only: readers who walk back from the end make those of older
// documents (query/plan/ring_start.h), inserts those of newer ones. Nothing is marked before the
// first reader asks.
//
// Marks say something only where `ts` never falls from one document to the next, which the writer
// of an oplog sees to. A document that breaks it ends the marks of its collection for good, and
// reading begins at the oldest document again.
//
// Locks are those of the collection: what is called by a change has the database exclusive, the
// rest has it shared. Readers at the same time are kept apart here.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "storage/record_store.h"

namespace catalog {

class RingMarks {
  public:
    static constexpr int64_t kBytesApart = 1 << 20;

    // The `ts` of a document; nothing: it has none, or one that is no Timestamp.
    static std::optional<uint64_t> ts_of(bson::Doc doc);

    // For readers ---------------------------------------------------------------------------------
    // Where to look for the first document whose `ts` is `wanted` or later.
    struct Start {
        enum class From {
            oldest,  // read forward from the oldest document
            mark,    // read forward from `id`, which is older than `wanted`
            walk,    // walk back from `id`; null: from the newest document
        };
        From from = From::oldest;
        storage::RecordId id;
    };
    Start find(uint64_t wanted);
    // A reader that walks back has come to this document.
    void add_older(uint64_t ts, storage::RecordId id);
    // It has seen the oldest one.
    void note_all_walked();
    // It has seen one that is out of order.
    void note_disorder();

    // For changes of the collection ---------------------------------------------------------------
    void inserted(const storage::Record& record);
    // Called before the record goes.
    void removed(const storage::Record& record);
    // Records changed in another way, or moved: what is known is forgotten.
    void forget();

  private:
    struct Mark {
        uint64_t ts;
        storage::RecordId id;
    };

    void forget_marks();  // mutex_ held

    std::atomic<bool> wanted_{false};  // a reader has asked

    std::mutex mutex_;         // of all that follows
    std::deque<Mark> marks_;   // `ts` never falls
    uint64_t newest_ts_ = 0;   // of those that were marked or inserted since
    int64_t bytes_since_ = 0;  // inserted behind the last mark
    bool all_walked_ = false;  // no mark is missing before the first one
    bool ordered_ = true;
};

}  // namespace catalog
