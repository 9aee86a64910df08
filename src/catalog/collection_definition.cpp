// What Collection knows of its definition: its indexes, its collation and its validator.
#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/collection.h"
#include "sched/interruption.h"
#include "sched/tick.h"

namespace catalog {

namespace {

std::atomic<uint64_t> g_next_incarnation{1};

// Dotted path without the parts that are array positions.
std::string without_positions(std::string_view path) {
    std::string out;
    size_t begin = 0;
    while (begin <= path.size()) {
        const size_t dot = std::min(path.find('.', begin), path.size());
        const std::string_view part = path.substr(begin, dot - begin);
        if (part.find_first_not_of("0123456789$") != std::string_view::npos) {
            if (!out.empty()) out += '.';
            out += part;
        }
        begin = dot + 1;
    }
    return out;
}

// Whether one dotted path equals the other or is its parent.
bool overlap(std::string_view a, std::string_view b) {
    if (a.size() > b.size()) std::swap(a, b);
    return b.starts_with(a) && (b.size() == a.size() || b[a.size()] == '.');
}

}  // namespace

void Collection::reload_indexes(bool gone) {
    DCHECK(incarnation_ == 0 || !sched::can_be_ended());
    // The plans of open cursors point to indexes: those that stay keep their object.
    std::vector<std::unique_ptr<Index>> old = std::move(indexes_);
    indexes_.clear();
    id_index_ = nullptr;
    faulty_ = nullptr;
    for (int slot = 0; slot < store_.index_count(); ++slot) {
        const storage::IndexEntry entry = store_.index(slot);
        const auto kept = std::ranges::find_if(old, [&entry](const std::unique_ptr<Index>& index) {
            return index != nullptr && index->name == entry.name && index->store == entry.index;
        });
        auto index = kept == old.end() ? std::make_unique<Index>() : std::move(*kept);
        index->read(entry, slot);
        if (index->is_id && index->ready && index->store != nullptr) id_index_ = index.get();
        if (!index->fault.empty()) faulty_ = index.get();
        indexes_.push_back(std::move(index));
    }
    if (gone && capped_) marks_->forget();
    if (gone || incarnation_ == 0)
        incarnation_ = g_next_incarnation.fetch_add(1, std::memory_order_relaxed);
}

// A 2.6 that was given the option may have kept it, and has no more to do with it: without the
// library's version it is not ours.
void Collection::read_collation() {
    try {
        const bson::Object options(store_.options());
        const bson::Element stored = options["collation"];
        if (!stored.is_object() || !stored.as_doc().has("version")) return;
        may_have_collators_.store(true, std::memory_order_relaxed);
        collator_ = collation::Collator::make(stored.as_doc());
    } catch (const base::Error& e) {
        if (sched::is_end_of_work(e)) throw;
        collator_fault_ = e.what();
        base::log::error("the collation of {} is not known: {}", ns(), e.what());
    }
}

const std::shared_ptr<const collation::Collator>& Collection::collator() const {
    if (!collator_fault_.empty())
        base::fail(base::kIncompatibleCollationVersion, "the collation of {} cannot be had: {}",
                   ns(), collator_fault_);
    return collator_;
}

void Collection::reload_validator() {
    DCHECK(validator_ == nullptr || !sched::can_be_ended());
    validator_ = nullptr;
    try {
        validator_ = Validator::of(store_.options(), expressions_, collator_);
    } catch (const base::Error& e) {
        if (sched::is_end_of_work(e)) throw;
        base::log::error("the options of {} cannot be read, so that no validator is known: {}",
                         ns(), e.what());
    }
}

const Index* Collection::find_index(std::string_view name) const {
    for (const auto& index : indexes_) {
        if (index->name == name) return index.get();
    }
    return nullptr;
}

const Index* Collection::find_index_by_key(bson::Doc key_pattern) const {
    const Index* found = nullptr;
    for (const auto& index : indexes_) {
        if (bson::compare_docs(index->key_pattern, key_pattern) != 0) continue;
        if (found != nullptr)
            base::fail(base::kBadValue,
                       "{} indexes have the keys {}: {} and {} among them; name one", ns(),
                       bson::to_text(key_pattern), found->name, index->name);
        found = index.get();
    }
    return found;
}

const Index* Collection::find_index_like(bson::Doc definition) const {
    for (const auto& index : indexes_) {
        if (index->is_like(definition)) return index.get();
    }
    return nullptr;
}

void Collection::check_writable() const {
    store_.check_writable();
    if (kept_by_log_)
        base::fail(base::kIllegalOperation, "cannot change {}: the server itself keeps it", ns());
    if (faulty_ != nullptr)
        base::fail(base::kIllegalOperation, "cannot write to {}: index {} cannot be kept up: {}",
                   ns(), faulty_->name, faulty_->fault);
}

bool Collection::path_indexed(std::string_view path) const {
    const std::string plain = without_positions(path);
    for (const auto& index : indexes_) {
        if (index->generator == nullptr) return true;
        if (index->is_special && index->generator->may_change_keys(path)) return true;
        for (const auto* fields : {&index->generator->fields(), &index->generator->filter_paths()})
            for (const std::string& field : *fields) {
                sched::tick_bytes(field.size(), sched::PerTick::converted);
                if (overlap(field, path) || overlap(without_positions(field), plain)) return true;
            }
    }
    return false;
}

}  // namespace catalog
