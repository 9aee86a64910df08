// storage/contract/memory_index.h - an index as an ordered set of keys and record ids, compared as
// BSON: no encoding, no pages.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "storage/contract/memory_undo.h"
#include "storage/sorted_index.h"

namespace storage::contract {

struct MemoryEntry {
    bson::Object key;
    RecordId id;
    bool operator==(const MemoryEntry& other) const {
        return key.bytes() == other.key.bytes() && id == other.id;
    }
};
// Stands for every entry that begins with a key.
struct MemoryPrefix {
    bson::Doc key;
};

struct MemoryEntryLess {
    using is_transparent = void;
    uint32_t descending;

    bool operator()(const MemoryEntry& a, const MemoryEntry& b) const {
        const int c = bson::compare_keys(a.key, b.key, descending);
        return c != 0 ? c < 0 : a.id < b.id;
    }
    bool operator()(const MemoryEntry& a, const MemoryPrefix& b) const {
        return compare(a.key, b.key) < 0;
    }
    bool operator()(const MemoryPrefix& a, const MemoryEntry& b) const {
        return compare(b.key, a.key) > 0;
    }
    int compare(bson::Doc key, bson::Doc prefix) const {
        uint32_t bits = descending;
        auto value = key.begin();
        for (const bson::Element& wanted : prefix) {
            const int c = bson::compare_values(*value, wanted);
            if (c != 0) return (bits & 1) != 0 ? -c : c;
            bits >>= 1;
            ++value;
        }
        return 0;
    }
};
using MemoryEntries = std::set<MemoryEntry, MemoryEntryLess>;

class MemoryIndexCursor final : public IndexCursor {
  public:
    MemoryIndexCursor(const MemoryEntries& entries, Direction direction)
        : entries_(entries), forward_(direction == Direction::forward), at_(entries.end()) {}

    void seek(bson::Doc key, bool past) override {
        const MemoryPrefix prefix{key};
        if (forward_ == past)
            stand_at(entries_.upper_bound(prefix));
        else
            stand_at(entries_.lower_bound(prefix));
    }
    void seek_to_start() override { stand_at(forward_ ? entries_.begin() : entries_.end()); }
    bool at_end() const override { return at_ == entries_.end(); }
    void next() override { stand_at(forward_ ? std::next(at_) : at_); }
    // A copy, as of an engine that decodes: good until the cursor moves and not longer.
    bson::Doc key() override { return key_.emplace(at_->key).doc(); }
    RecordId id() const override { return at_->id; }
    void save() override {
        saved_.reset();
        if (!at_end()) saved_ = *at_;
        key_.reset();
    }
    bool restore() override {
        if (!saved_) return true;
        stand_at(forward_ ? entries_.lower_bound(*saved_) : entries_.upper_bound(*saved_));
        const MemoryEntryLess less = entries_.key_comp();
        return !at_end() && !less(*at_, *saved_) && !less(*saved_, *at_);
    }

  private:
    // Forward at `bound`, backward at the entry before it.
    void stand_at(MemoryEntries::const_iterator bound) {
        key_.reset();
        if (forward_)
            at_ = bound;
        else
            at_ = bound == entries_.begin() ? entries_.end() : std::prev(bound);
    }

    const MemoryEntries& entries_;
    const bool forward_;
    MemoryEntries::const_iterator at_;
    std::optional<bson::Object> key_;
    std::optional<MemoryEntry> saved_;
};

class MemoryIndex final : public SortedIndex {
  public:
    explicit MemoryIndex(uint32_t descending) : entries_(MemoryEntryLess{descending}) {}

    const MemoryEntries& entries() const { return entries_; }

    InsertResult insert(bson::Doc key, RecordId id, bool duplicates_allowed) override {
        if (too_long(key)) return InsertResult::too_long;
        if (!duplicates_allowed && has_duplicate(key, id)) return InsertResult::duplicate;
        MemoryEntry entry{bson::Object(key), id};
        if (!entries_.insert(entry).second) return InsertResult::inserted;
        bytes_ += cost(key);
        MemoryUndo::of_thread().note([this, entry = std::move(entry)] {
            entries_.erase(entry);
            bytes_ -= cost(entry.key);
        });
        return InsertResult::inserted;
    }
    bool remove(bson::Doc key, RecordId id) override {
        const auto found = entries_.find(MemoryEntry{bson::Object(key), id});
        if (found == entries_.end()) return false;
        bytes_ -= cost(key);
        MemoryUndo::of_thread().note([this, entry = *found] {
            entries_.insert(entry);
            bytes_ += cost(entry.key);
        });
        entries_.erase(found);
        return true;
    }
    bool has_duplicate(bson::Doc key, RecordId self) const override {
        const auto [begin, end] = entries_.equal_range(MemoryPrefix{key});
        return std::any_of(begin, end, [self](const MemoryEntry& e) { return e.id != self; });
    }
    RecordId find_one(bson::Doc key) const override {
        const auto [begin, end] = entries_.equal_range(MemoryPrefix{key});
        return begin == end ? RecordId{} : begin->id;
    }
    bool too_long(bson::Doc key) const override { return key.size() > kKeyBytesMax; }

    std::unique_ptr<IndexCursor> cursor(Direction direction) const override {
        return std::make_unique<MemoryIndexCursor>(entries_, direction);
    }
    std::unique_ptr<BulkBuilder> bulk_builder(bool duplicates_allowed) override {
        return std::make_unique<Builder>(*this, duplicates_allowed);
    }

    int64_t storage_bytes() const override { return bytes_; }
    int64_t validate(const std::function<void(const std::string&)>& errors) const override {
        if (!std::is_sorted(entries_.begin(), entries_.end(), entries_.key_comp()))
            errors("the entries are out of order");
        return static_cast<int64_t>(entries_.size());
    }

  private:
    static constexpr int32_t kKeyBytesMax = 1024;

    class Builder final : public BulkBuilder {
      public:
        Builder(MemoryIndex& index, bool duplicates_allowed)
            : index_(index), duplicates_allowed_(duplicates_allowed) {}
        InsertResult add(bson::Doc key, RecordId id) override {
            return index_.insert(key, id, duplicates_allowed_);
        }
        void finish() override {}

      private:
        MemoryIndex& index_;
        const bool duplicates_allowed_;
    };

    static int64_t cost(bson::Doc key) {
        return key.size() + static_cast<int64_t>(sizeof(RecordId));
    }

    MemoryEntries entries_;
    int64_t bytes_ = 0;
};

}  // namespace storage::contract
