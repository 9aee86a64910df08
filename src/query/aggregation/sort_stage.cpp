// $sort: whole documents in memory, with the keys as they stand in them.

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/operation.h"
#include "query/aggregation/stage.h"

namespace query {

namespace {

constexpr int kWholeTooLarge = 16819;
constexpr int kTopTooLarge = 16820;  // of a sort with a limit

}  // namespace

SortStage::SortStage(bson::Doc spec, bool allow_disk_use)
    : pattern_(spec), allow_disk_use_(allow_disk_use) {
    for (const Value& e : spec) {
        if (e.is_object()) {
            base::fail(17312,
                       "$meta is the only expression supported by $sort right now, and "
                       "there is no text index to take a score from");
        }
        if (!e.is_number()) {
            base::fail(15974, "$sort key ordering must be specified using a number");
        }
        const int64_t direction = e.to_int64();
        if (direction != 1 && direction != -1) {
            base::fail(15975,
                       "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
        }
        keys_.emplace_back(split_path(e.name()), static_cast<int>(direction));
    }
    if (keys_.empty()) base::fail(15976, "$sort stage must have at least one sort key");
}

SortStage::~SortStage() = default;

bool SortStage::less(const Entry& a, const Entry& b) const {
    for (size_t i = 0; i < keys_.size(); ++i) {
        const int c = compare_pipeline_values(a.keys[i], b.keys[i]) * keys_[i].second;
        if (c != 0) return c < 0;
    }
    return false;
}

void SortStage::load() {
    loaded_ = true;
    try {
        collect();
    } catch (const std::bad_alloc&) {
        if (allow_disk_use_) throw;
        fail_memory();
    }
}

void SortStage::fail_memory() const {
    base::fail(limit_ == 0 ? kWholeTooLarge : kTopTooLarge,
               "Sort exceeded memory limit of {} bytes, but did not opt in to external sorting. "
               "Aborting operation. Pass allowDiskUse:true to opt in.",
               kStageMemoryBytes);
}

void SortStage::collect() {
    Arena arena;
    bson::Doc doc;
    while (previous_->next(&doc)) {
        Entry entry;
        const auto size = static_cast<size_t>(doc.size());
        entry.doc = std::make_unique_for_overwrite<uint8_t[]>(size);
        std::memcpy(entry.doc.get(), doc.data(), size);
        entry.keys.reserve(keys_.size());
        for (const auto& [path, direction] : keys_) {
            entry.keys.push_back(value_at(arena, bson::Doc(entry.doc.get()), path));
        }
        if (arena.used() != 0) {
            entry.made = std::make_unique<Arena>(std::move(arena));
            arena = Arena();
        }
        bytes_ += doc.size() + static_cast<int64_t>(keys_.size() * sizeof(Value) + sizeof(Entry));
        entries_.push_back(std::move(entry));
        const bool many =
            bytes_ > kStageMemoryBytes || static_cast<int64_t>(entries_.size()) / 2 - 50 >= limit_;
        if (limit_ != 0 && many) keep_best();
        if (bytes_ > kStageMemoryBytes && !allow_disk_use_) fail_memory();
        if ((entries_.size() & 127) == 0) base::Operation::check();
    }
    std::stable_sort(entries_.begin(), entries_.end(),
                     [this](const Entry& a, const Entry& b) { return less(a, b); });
    if (limit_ != 0 && static_cast<int64_t>(entries_.size()) > limit_) {
        entries_.resize(static_cast<size_t>(limit_));
    }
}

// Drops what can't be among the first `limit_` any more.
void SortStage::keep_best() {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [this](const Entry& a, const Entry& b) { return less(a, b); });
    if (static_cast<int64_t>(entries_.size()) > limit_) {
        entries_.resize(static_cast<size_t>(limit_));
    }
    bytes_ = 0;
    for (const Entry& e : entries_) {
        bytes_ += bson::Doc(e.doc.get()).size() +
                  static_cast<int64_t>(keys_.size() * sizeof(Value) + sizeof(Entry));
    }
}

bool SortStage::next(bson::Doc* out) {
    if (!loaded_) load();
    if (position_ != 0) entries_[position_ - 1] = Entry();  // was handed out
    if (position_ == entries_.size()) return false;
    *out = bson::Doc(entries_[position_++].doc.get());
    return true;
}

void SortStage::add_needs(Needs& needs) const {
    for (const Value& e : pattern_)
        needs.fields.insert(std::string(e.name()));
}

StagePtr make_sort(const Value& spec, bool allow_disk_use) {
    if (!spec.is_object()) {
        base::fail(15973, "the $sort key specification must be an object");
    }
    return std::make_unique<SortStage>(spec.as_doc(), allow_disk_use);
}

}  // namespace query
