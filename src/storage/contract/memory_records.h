// storage/contract/memory_records.h - the records of one collection in an ordered map.
//
// Ids count up and say nothing of a place, and no record ever moves. The views given out live no
// longer than storage/record_store.h says: later they show bytes that are no document.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/contract/memory_undo.h"
#include "storage/engine.h"

namespace storage::contract {

using RecordMap = std::map<RecordId, bson::Object>;

// A copy that is overwritten with the next one of the thread.
inline bson::Doc short_lived(const bson::Object& doc) {
    constexpr uint8_t kEnded = 0xdb;
    thread_local std::vector<uint8_t> last, ended;
    ended.swap(last);
    std::ranges::fill(ended, kEnded);
    const auto bytes = doc.doc().bytes();
    last.assign(bytes.begin(), bytes.end());
    return bson::Doc(last.data());
}

class MemoryRecordCursor final : public RecordCursor {
  public:
    MemoryRecordCursor(const RecordMap& records, bool capped, Direction direction)
        : records_(records), capped_(capped), forward_(direction == Direction::forward) {
        if (!forward_) at_.value = std::numeric_limits<uint64_t>::max();
    }

    std::optional<Record> next() override {
        const auto found = forward_ ? after() : before();
        if (lost_ || found == records_.end()) return std::nullopt;
        at_ = found->first;
        started_ = true;
        including_ = false;
        return Record{found->first, short_lived(found->second)};
    }
    void seek(RecordId id) override {
        lost_ = !records_.contains(id);
        at_ = id;
        started_ = including_ = true;
    }
    void save() override {}
    bool restore() override {
        if (capped_ && started_ && !records_.contains(at_)) lost_ = true;
        return !lost_;
    }

  private:
    RecordMap::const_iterator after() const {
        return including_ ? records_.lower_bound(at_) : records_.upper_bound(at_);
    }
    RecordMap::const_iterator before() const {
        const auto behind = including_ ? records_.upper_bound(at_) : records_.lower_bound(at_);
        return behind == records_.begin() ? records_.end() : std::prev(behind);
    }

    const RecordMap& records_;
    const bool capped_;
    const bool forward_;
    RecordId at_;
    bool started_ = false;
    bool including_ = false;  // next() returns the record at at_, not the one behind it
    bool lost_ = false;
};

class MemoryRecordStore final : public RecordStore {
  public:
    explicit MemoryRecordStore(const CollectionOptions& options)
        : capped_bytes_(options.capped ? options.capped_bytes : 0) {
        stats_.capped = options.capped;
        stats_.capped_bytes = capped_bytes_;
        stats_.capped_max_documents = options.capped_max_documents;
        stats_.user_flags = options.capped ? 0 : options.user_flags;
        stats_.system_flags = options.id_index ? 1 : 0;
    }
    // Copies the state that a reopened database finds: everything but the callback.
    MemoryRecordStore(const MemoryRecordStore& other)
        : capped_bytes_(other.capped_bytes_),
          stats_(other.stats_),
          records_(other.records_),
          last_id_(other.last_id_) {}
    MemoryRecordStore& operator=(const MemoryRecordStore&) = delete;

    const RecordMap& all() const { return records_; }
    void set_user_flags(int32_t flags) { stats_.user_flags = flags; }
    void note_dropped_index() { stats_.system_flags = 0; }

    void set_before_capped_removal(BeforeRemoval callback) override {
        before_removal_ = std::move(callback);
    }
    RecordId insert(bson::Doc doc) override {
        if (capped()) drop_oldest(doc.size());
        const RecordId id{++last_id_};
        records_.emplace(id, bson::Object(doc));
        stats_.data_bytes += doc.size();
        MemoryUndo::of_thread().note([this, id] { erase(id); });
        return id;
    }
    bson::Doc get(RecordId id) const override { return short_lived(records_.at(id)); }
    bool fits(RecordId id, int32_t doc_bytes) const override {
        return !capped() || doc_bytes <= records_.at(id).size();
    }
    void overwrite(RecordId id, bson::Doc doc) override { replace(id, bson::Object(doc)); }
    void overwrite_range(RecordId id, int32_t offset, std::span<const uint8_t> bytes) override {
        auto changed = records_.at(id).bytes();
        std::memcpy(changed.data() + offset, bytes.data(), bytes.size());
        replace(id, bson::Object(bson::Doc(changed.data())));
    }
    RecordId insert_moved(RecordId, bson::Doc) override {
        base::fail(base::kCannotGrowDocumentInCappedNamespace,
                   "failing update: objects in a capped ns cannot grow");  // all others fit
    }
    void remove(RecordId id) override {
        MemoryUndo::of_thread().note([this, id, doc = records_.at(id)] {
            records_.emplace(id, doc);
            stats_.data_bytes += doc.size();
        });
        erase(id);
    }

    std::unique_ptr<RecordCursor> open_cursor(Direction direction) override {
        return std::make_unique<MemoryRecordCursor>(records_, capped(), direction);
    }

    int64_t count() const override { return static_cast<int64_t>(records_.size()); }
    RecordStoreStats stats() const override {
        RecordStoreStats s = stats_;
        s.count = count();
        s.storage_bytes = s.data_bytes;
        return s;
    }
    bool capped() const override { return stats_.capped; }

    void truncate() override {
        DCHECK(!MemoryUndo::of_thread().is_kept());
        records_.clear();
        stats_.data_bytes = 0;
    }
    void truncate_after(RecordId id, bool inclusive) override {
        constexpr int kTruncateEmpties = 13415;
        while (!records_.empty()) {
            const RecordId newest = records_.rbegin()->first;
            if (newest < id || (newest == id && !inclusive)) return;
            if (records_.size() == 1)
                base::fail(kTruncateEmpties, "truncating would leave the collection empty");
            drop(newest);
        }
    }

  private:
    void erase(RecordId id) {
        stats_.data_bytes -= records_.at(id).size();
        records_.erase(id);
    }
    void replace(RecordId id, bson::Object doc) {
        bson::Object& stored = records_.at(id);
        stats_.data_bytes += doc.size() - stored.size();
        std::swap(stored, doc);
        MemoryUndo::of_thread().note([this, id, before = std::move(doc)] {
            bson::Object& now = records_.at(id);
            stats_.data_bytes += before.size() - now.size();
            now = before;
        });
    }
    void drop_oldest(int32_t doc_bytes) {
        constexpr int kTooLargeForCapped = 16328;
        if (doc_bytes > capped_bytes_)
            base::fail(kTooLargeForCapped,
                       "a document of {} bytes is larger than its capped collection", doc_bytes);
        const int64_t most = stats_.capped_max_documents;
        while (stats_.data_bytes + doc_bytes > capped_bytes_ || (most > 0 && count() >= most))
            drop(records_.begin()->first);
    }
    void drop(RecordId id) {
        if (before_removal_) before_removal_({id, records_.at(id).doc()});
        remove(id);
    }

    const int64_t capped_bytes_;
    RecordStoreStats stats_;  // without what is counted elsewhere
    RecordMap records_;
    uint64_t last_id_ = 0;
    BeforeRemoval before_removal_;
};

}  // namespace storage::contract
