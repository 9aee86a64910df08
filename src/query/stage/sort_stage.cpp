// $sort: whole documents in memory, with their keys; beyond that, in sorted runs on the disk.

#include <algorithm>
#include <new>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/element_writer.h"
#include "bson/order_of_today.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/pipelines.h"
#include "query/plan/query.h"
#include "query/plan/sort.h"
#include "query/stage/narrowing.h"
#include "query/stage/stage.h"
#include "query/value/value_order.h"
#include "sched/operation.h"

namespace query {

namespace {

constexpr int kWholeTooLarge = 16819;
constexpr int kTopTooLarge = 16820;  // of a sort with a limit

}  // namespace

SortStage::SortStage(bson::Doc spec, const PipelineContext& context)
    : allow_disk_use_(context.allow_disk_use),
      collator_(context.collator),
      runs_({&fields_, context.dialect.has(dialect::kTimesAreTwoClasses), collator_.get()},
            context.scratch_directory, spill::Folder::Use::operation) {
    bson::Builder by;
    for (const Value& e : sched::ticked(spec)) {
        if (e.is_object()) {
            const Value meta = e.as_doc().first();
            if (meta.name() != "$meta" || !meta.is_string() || meta.as_string() != "textScore" ||
                e.as_doc().field_count() != 1)
                base::fail(17312,
                           "$meta of \"textScore\" is the only expression supported by $sort");
            fields_.emplace_back(std::vector<std::string>{std::string(kScoreField)}, -1);
            by.append(kScoreField, -1);
            continue;
        }
        by.append(e);
        if (!e.is_number()) {
            base::fail(15974, "$sort key ordering must be specified using a number");
        }
        const int64_t direction = e.to_int64();
        if (direction != 1 && direction != -1) {
            base::fail(15975,
                       "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
        }
        fields_.emplace_back(split_path(e.name(), context.dialect), static_cast<int>(direction));
    }
    if (fields_.empty()) base::fail(15976, "$sort stage must have at least one sort key");
    pattern_ = by.object();
    if (context.dialect.has(dialect::kStageSortsAsFind))
        as_find_ =
            std::make_shared<const SortPattern>(pattern_, nullptr, collator_, dialect::kToday);
}

void SortStage::order_by(std::shared_ptr<const SortPattern> pattern) {
    DCHECK(pattern != nullptr && !loaded_);
    if (as_find_) as_find_ = std::move(pattern);
}

SortStage::~SortStage() = default;

void SortStage::Order::read(std::span<const uint8_t> entry, Keyed& item) const {
    const uint8_t* at = entry.data();
    item.keys.clear();
    for (size_t i = 0; i < fields->size(); ++i) {
        const bool missing = *at == static_cast<uint8_t>(bson::Type::eoo);
        item.keys.push_back(missing ? Value() : Value(at));
        at += missing ? 1 : item.keys.back().size();
    }
    item.doc = bson::Doc(at);
    DCHECK(at <= entry.data() + entry.size());  // a large document is elsewhere
}

// Keys as find makes them are put behind the document.
SortStage::Entry SortStage::copy(bson::Doc doc) {
    find_key_.clear();
    if (as_find_) as_find_->append_key(doc, find_key_);
    const auto size = static_cast<size_t>(doc.size());
    Entry entry;
    entry.bytes = sched::make_bytes(size + find_key_.size());
    std::memcpy(entry.bytes.get(), doc.data(), size);
    Keyed& item = entry.keyed;
    item.doc = bson::Doc(entry.bytes.get());
    item.keys.reserve(fields_.size());
    if (as_find_) {
        std::memcpy(entry.bytes.get() + size, find_key_.data(), find_key_.size());
        for (const Value& key : bson::Doc(entry.bytes.get() + size))
            item.keys.push_back(key);
        return entry;
    }
    for (const auto& [path, direction] : sched::ticked(fields_))
        item.keys.push_back(value_at(item.made, item.doc, path));
    return entry;
}

bool SortStage::Order::before(const Keyed& a, const Keyed& b) const {
    DCHECK(a.keys.size() == fields->size() && b.keys.size() == fields->size());
    sched::tick();
    for (size_t i = 0; i < fields->size(); ++i) {
        const int upwards =
            as_find ? bson::compare_values_of_today(a.keys[i], b.keys[i])
                    : compare_pipeline_values(a.keys[i], b.keys[i], collator, Times::one_class);
        const int c = upwards * (*fields)[i].second;
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
    const int code =
        as_find_ ? as_find_->code_of_overflow() : (limit_ == 0 ? kWholeTooLarge : kTopTooLarge);
    base::fail(code,
               "Sort exceeded memory limit of {} bytes, but did not opt in to external sorting. "
               "Aborting operation. Pass allowDiskUse:true to opt in.",
               kStageMemoryBytes);
}

void SortStage::collect() {
    bson::Doc doc;
    while (previous_->next(&doc)) {
        const int64_t more = bytes_of(doc);
        if (allow_disk_use_ && is_full(more)) shrink(more);
        entries_.push_back(copy(doc));
        bytes_ += more;
        const bool many = static_cast<int64_t>(entries_.size()) / 2 - 50 >= limit_;
        if (limit_ != 0 && (many || bytes_ > kStageMemoryBytes)) sort_held();
        if (bytes_ > kStageMemoryBytes && !allow_disk_use_) fail_memory();
        if ((entries_.size() & 127) == 0) sched::Operation::check();
    }
    if (!runs_.empty() && !entries_.empty()) spill();
    if (runs_.empty()) {
        sort_held();
    } else {
        runs_.finish();
    }
}

int64_t SortStage::bytes_of(bson::Doc doc) const {
    return doc.size() + static_cast<int64_t>(fields_.size() * sizeof(Value) + sizeof(Entry));
}

bool SortStage::is_full(int64_t more) const {
    return !entries_.empty() && spill::is_full(bytes_ + more, kStageSpillBytes);
}

// Drops the documents that cannot be among the first ones; if that is not enough, spills all.
void SortStage::shrink(int64_t more) {
    if (limit_ != 0) sort_held();
    if (bytes_ > kStageSpillBytes / 2 || is_full(more)) spill();
}

// Drops what can't be among the first ones.
void SortStage::sort_held() {
    DCHECK(limit_ >= 0);
    std::stable_sort(entries_.begin(), entries_.end(),
                     [order = order()](const Entry& a, const Entry& b) {
                         return order.before(a.keyed, b.keyed);
                     });
    if (limit_ == 0 || static_cast<int64_t>(entries_.size()) <= limit_) return;
    entries_.resize(static_cast<size_t>(limit_));
    bytes_ = 0;
    for (const Entry& e : entries_)
        bytes_ += bytes_of(e.keyed.doc);
}

void SortStage::spill() {
    DCHECK(allow_disk_use_ && !entries_.empty());
    sort_held();
    runs_.add([this](spill::Run& run) {
        bson::Buffer keys;
        for (Entry& entry : entries_) {
            keys.clear();
            for (const Value& key : entry.keyed.keys) {
                if (key.missing())
                    keys.append_byte(static_cast<uint8_t>(bson::Type::eoo));
                else
                    write_value(keys, "", key);
            }
            run.append({keys.data(), keys.size()}, {}, entry.keyed.doc.bytes());
            entry = Entry();
        }
        entries_.clear();
    });
    bytes_ = 0;
}

bool SortStage::next(bson::Doc* out) {
    if (!loaded_) load();
    if (!runs_.empty()) {
        DCHECK(entries_.empty());
        const Keyed* const first = limit_ != 0 && handed_out_ == limit_ ? nullptr : runs_.next();
        if (first == nullptr) return false;
        *out = first->doc;
        ++handed_out_;
        return true;
    }
    const auto at = static_cast<size_t>(handed_out_);
    DCHECK(at <= entries_.size());
    if (at != 0) entries_[at - 1] = Entry();
    if (at == entries_.size()) return false;
    *out = entries_[at].keyed.doc;
    ++handed_out_;
    return true;
}

void SortStage::add_needs(Needs& needs) const {
    for (const Value& e : pattern_)
        needs.fields.emplace(as_find_ ? path_without_positions(e.name()) : e.name());
}

StagePtr make_sort(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object()) {
        base::fail(15973, "the $sort key specification must be an object");
    }
    return std::make_unique<SortStage>(spec.as_doc(), context);
}

}  // namespace query
