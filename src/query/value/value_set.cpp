#include "query/value/value_set.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/dcheck.h"
#include "sched/tick.h"

namespace query {

namespace {

constexpr size_t kLeastSlots = 16;

// The upper bits of the product, which depend on all bits of the hash.
size_t first_slot(size_t hash, size_t slots) {
    DCHECK(std::has_single_bit(slots) && slots > 1);
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    return static_cast<size_t>((hash * kGolden) >> (64 - std::countr_zero(slots)));
}

}  // namespace

void ValueSet::insert(const Value& v) {
    if (2 * values_.size() >= slots_.size()) grow();
    const size_t hash = hash_value(v, collator_);
    const size_t at = find(v, hash);
    if (slots_[at] != kFree) return;
    values_.push_back(v);
    hashes_.push_back(hash);
    slots_[at] = static_cast<uint32_t>(values_.size());
    DCHECK(hashes_.size() == values_.size());
}

void ValueSet::insert_all(const Value& array) {
    for (const Value& v : array.as_doc())
        insert(v);
}

size_t ValueSet::position(const Value& v) const {
    if (slots_.empty()) return kNone;
    const uint32_t number = slots_[find(v, hash_value(v, collator_))];
    return number == kFree ? kNone : number - 1;
}

bool ValueSet::contains_all(const ValueSet& other) const {
    return std::ranges::all_of(other.values_, [&](const Value& v) { return contains(v); });
}

// Returns the slot in which the value is, or would be.
size_t ValueSet::find(const Value& v, size_t hash) const {
    DCHECK(values_.size() < slots_.size());  // one is free, where the search ends
    for (size_t at = first_slot(hash, slots_.size());; at = (at + 1) & (slots_.size() - 1)) {
        if (slots_[at] == kFree) return at;
        const size_t i = slots_[at] - 1;
        if (hashes_[i] == hash && compare_pipeline_values(values_[i], v, collator_, times_) == 0)
            return at;
        sched::tick();
    }
}

void ValueSet::grow() {
    sched::Vector<uint32_t> larger(std::max(kLeastSlots, 2 * slots_.size()), kFree);
    for (size_t i = 0; i < values_.size(); ++i) {
        size_t at = first_slot(hashes_[i], larger.size());
        while (larger[at] != kFree)
            at = (at + 1) & (larger.size() - 1);
        larger[at] = static_cast<uint32_t>(i + 1);
        sched::tick();
    }
    slots_ = std::move(larger);
}

}  // namespace query
