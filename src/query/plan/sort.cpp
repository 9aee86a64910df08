#include "query/plan/sort.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/thread_scratch.h"
#include "bson/compare.h"
#include "bson/field_path.h"
#include "bson/nan.h"
#include "bson/order_of_today.h"
#include "catalog/index_keys.h"
#include "catalog/mixed_times.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/plan/index_bounds.h"
#include "sched/interruption.h"
#include "sched/tick.h"
#include "spill/sorted_runs.h"
#include "storage/sorted_index.h"

namespace query {

namespace {

using bson::Doc;
using bson::Element;

// The errors of KeyGenerator.
constexpr int kParallelArrays = 10088;
constexpr int kAmbiguousPath = 16746;

void check_spec(Doc spec) {
    for (const Element& e : sched::ticked(spec)) {
        bson::check_path_parts(e.name());
        const double direction = e.is_number() ? std::trunc(e.to_double()) : 0;
        if (direction != 1 && direction != -1)
            base::fail(base::kBadValue, "bad sort specification: field '{}' must be 1 or -1",
                       e.name());
    }
}

// The bounds that the filter would put on a multikey index with the sort's pattern. An element of
// an array outside of them is not what the document was found by, so it is not sorted by either.
class SortBounds {
  public:
    SortBounds(std::unique_ptr<catalog::KeyGenerator> generator, const Matcher* filter) {
        index_.multikey = true;
        index_.generator = std::move(generator);
        if (filter == nullptr) return;
        const Conjunction conjunction = flatten(filter->root());
        std::vector<ConjunctionBounds> bounds(1);
        if (!bound_conjunction(index_, conjunction, arena_, bounds[0])) bounds.clear();
        const BranchIndex indexes[] = {{&index_, nullptr}};
        for (const MatchNode* node : conjunction.disjunctions) {
            bool exact = true;
            if (!bounds.empty()) break;
            if (!bound_branches(*node, indexes, arena_, bounds, exact)) bounds.clear();
        }
        join_branches(bounds);
        for (ConjunctionBounds& one : bounds) {
            alternatives_.push_back(std::move(one.fields));
            scanned_.push_back(alternatives_.back());
            for (IntervalList& list : scanned_.back())
                round_long_ends(list, 1, arena_);
        }
    }

    std::span<const IndexBounds> alternatives() const { return alternatives_; }
    const catalog::KeyGenerator& generator() const { return *index_.generator; }

    // Numbers begin at NaN, so that matching finds it. To be sorted by, it must be asked for, or be
    // all that the document was found by.
    enum class NaN { asked_for, among_numbers };
    // Whether every field of a sort key is inside.
    bool allow(Doc key, NaN nan) const {
        return scanned_.empty() || std::ranges::any_of(scanned_, [=](const IndexBounds& bounds) {
                   auto value = key.begin();
                   return std::ranges::all_of(bounds, [&value, nan](const IntervalList& list) {
                       const Element one = *value;
                       ++value;
                       return any_holds(list, one, nan);
                   });
               });
    }

  private:
    static bool holds(const Interval& interval, const Element& value, NaN nan) {
        sched::tick();
        const bool begins_numbers = bson::is_nan(interval.low) && !interval.is_point();
        if (nan == NaN::asked_for && bson::is_nan(value) && begins_numbers) return false;
        const int low = bson::compare_values(value, interval.low);
        if (low < 0 || (low == 0 && !interval.low_inclusive)) return false;
        const int high = bson::compare_values(value, interval.high);
        return high < 0 || (high == 0 && interval.high_inclusive);
    }

    // The intervals run upwards and do not meet, but NaN and numbers from 2^53 on have no such
    // place among them.
    static bool any_holds(const IntervalList& list, const Element& value, NaN nan) {
        if (bson::is_nan(value) || bson::is_large_number(value))
            return std::ranges::any_of(list,
                                       [&](const Interval& i) { return holds(i, value, nan); });
        const auto ends_before = sched::ticking([&](const Interval& i) {
            const int c = bson::compare_values(value, i.high);
            return c > 0 || (c == 0 && !i.high_inclusive);
        });
        const auto at = std::ranges::partition_point(list, ends_before);
        return at != list.end() && holds(*at, value, nan);
    }

    catalog::Index index_;  // what a sort would like to have: multikey, on its fields
    ValueArena arena_;
    std::vector<IndexBounds> alternatives_;  // none: everything
    std::vector<IndexBounds> scanned_;       // without long ends
};

std::unique_ptr<catalog::KeyGenerator> make_generator(
    Doc spec, std::shared_ptr<const collation::Collator> collator) {
    bson::Builder index;
    index.append("key", spec);
    return catalog::KeyGenerator::make(index.doc(), std::move(collator));
}

}  // namespace

struct SortPattern::Keys {
    Keys(Doc spec, const Matcher* filter, std::shared_ptr<const collation::Collator> collator)
        : bounds(make_generator(spec, std::move(collator)), filter) {}
    SortBounds bounds;
};

SortPattern::SortPattern(Doc spec, const Matcher* filter,
                         std::shared_ptr<const collation::Collator> collator,
                         dialect::Dialect dialect)
    : spec_(spec), dialect_(dialect) {
    check_spec(spec);
    descending_ = storage::descending_bits(spec);
    keys_ = std::make_shared<const Keys>(spec_.doc(), filter, std::move(collator));
}

int SortPattern::compare(Doc a, Doc b) const {
    return dialect_.has(dialect::kTimesAreTwoClasses)
               ? bson::compare_keys_of_today(a, b, descending_)
               : bson::compare_keys(a, b, descending_);
}

int64_t SortPattern::bytes_max() const {
    constexpr int64_t kBytesOfToday = int64_t{100} << 20;
    constexpr int64_t kBytes = int64_t{32} << 20;
    return dialect_.has(dialect::kSortsUseFiles) ? kBytesOfToday : kBytes;
}

int SortPattern::code_of_overflow() const {
    return dialect_.code(base::kOverflow, base::kQueryExceededMemoryLimitNoDiskUseAllowed);
}

std::span<const IndexBounds> SortPattern::bounds() const {
    return keys_->bounds.alternatives();
}

void SortPattern::append_key(Doc doc, bson::Buffer& out) const {
    struct Keys {
        catalog::KeySet set;
    };
    catalog::KeySet& keys = base::thread_scratch<Keys>().set;
    const struct AtEnd {  // also on errors: nothing else would free them
        ~AtEnd() { keys.trim(); }
        catalog::KeySet& keys;
    } at_end{keys};
    try {
        keys_->bounds.generator().keys(doc, keys);
    } catch (const base::Error& e) {
        // One code: of several documents without a key the plan decides which one is met first.
        if (e.code() == kParallelArrays)
            base::fail(base::kBadValue, "cannot sort with keys that are parallel arrays");
        if (e.code() == kAmbiguousPath) base::fail(base::kBadValue, "cannot sort: {}", e.what());
        throw;
    }
    DCHECK(keys.size() != 0);
    size_t chosen = 0;
    if (keys.multikey()) {
        for (const auto nan : {SortBounds::NaN::asked_for, SortBounds::NaN::among_numbers}) {
            chosen = 0;
            while (chosen < keys.size() && !keys_->bounds.allow(keys[chosen], nan)) {
                sched::tick();
                ++chosen;
            }
            if (chosen < keys.size()) break;
        }
        if (chosen == keys.size()) chosen = 0;
        // They are in the order of indexes.
        if (dialect_.has(dialect::kTimesAreTwoClasses) && keys_->bounds.alternatives().empty() &&
            catalog::mixes_times(keys_->bounds.generator()))
            for (size_t i = 1; i < keys.size(); ++i)
                if (compare(keys[i], keys[chosen]) < 0) chosen = i;
    }
    const Doc key = keys[chosen];
    out.append(key.data(), static_cast<size_t>(key.size()));
}

struct DocumentSorter::State {
    State(const SortPattern& p, int64_t l, const std::string* disk)
        : pattern(p), limit(static_cast<size_t>(l)) {
        DCHECK(l >= 0);
        if (disk != nullptr)
            runs = std::make_unique<Runs>(RunOrder{&pattern}, *disk, spill::Folder::Use::operation);
    }

    struct Entry {
        sched::Bytes bytes;  // sort key, then document
        uint64_t tag = 0;
        uint64_t order = 0;  // of arrival
        MatchDetails details;
        Doc key() const { return Doc(bytes.get()); }
        Doc doc() const { return Doc(bytes.get() + key().size()); }
    };

    // An entry of a run: this, the sort key, and the document as its tail.
    struct Head {
        uint64_t tag = 0;
        uint64_t order = 0;
        MatchDetails details;
    };
    static_assert(std::is_trivially_copyable_v<Head>);
    struct RunOrder {
        struct Item {
            Head head;
            Doc key;
            Doc doc() const { return Doc(key.data() + key.size()); }
        };
        void read(std::span<const uint8_t> entry, Item& item) const {
            std::memcpy(&item.head, entry.data(), sizeof item.head);
            item.key = Doc(entry.data() + sizeof item.head);
        }
        bool before(const Item& a, const Item& b) const {
            const int c = pattern->compare(a.key, b.key);
            if (c != 0) return c < 0;
            if (a.head.tag != b.head.tag) return a.head.tag < b.head.tag;
            return a.head.order < b.head.order;
        }

        const SortPattern* pattern = nullptr;
    };
    using Runs = spill::SortedRuns<RunOrder>;

    bool on_disk() const { return runs != nullptr && !runs->empty(); }
    void spill();

    // Negative, zero or positive, as a new document stands to one that was kept before.
    int compare(Doc key, uint64_t tag, const Entry& kept) const {
        const int c = pattern.compare(key, kept.key());
        if (c != 0) return c;
        return tag < kept.tag ? -1 : (tag > kept.tag ? 1 : 0);
    }
    bool before(const Entry& a, const Entry& b) const {
        const int c = compare(a.key(), a.tag, b);
        return c != 0 ? c < 0 : a.order < b.order;
    }
    auto comparison() const {
        return sched::ticking([this](const Entry& a, const Entry& b) { return before(a, b); });
    }

    void sort() { std::stable_sort(entries.begin(), entries.end(), comparison()); }

    // Its key is in `key`.
    void add(Doc doc, uint64_t tag, const MatchDetails& details);

    void keep(Entry entry, int32_t doc_size) {
        if (runs != nullptr && !entries.empty() &&
            spill::is_full(bytes + doc_size, pattern.bytes_max()))
            spill();
        bytes += doc_size;
        if (bytes > pattern.bytes_max())
            base::fail(pattern.code_of_overflow(),
                       "Overflow sort stage buffered data usage of {} bytes exceeds internal limit "
                       "of {} bytes",
                       bytes, pattern.bytes_max());
        entries.push_back(std::move(entry));
        DCHECK(limit == 0 || entries.size() <= limit);
        if (limit != 0) std::push_heap(entries.begin(), entries.end(), comparison());
    }

    void drop_last() {
        DCHECK(limit != 0 && !entries.empty());
        std::pop_heap(entries.begin(), entries.end(), comparison());
        bytes -= entries.back().doc().size();
        entries.pop_back();
        DCHECK(bytes >= 0);
    }

    const SortPattern pattern;
    const size_t limit;
    sched::Vector<Entry> entries;  // with a limit: a heap with the last one on top
    bson::Buffer key;
    int64_t bytes = 0;      // of the documents kept
    uint64_t arrivals = 0;  // of documents that were kept
    size_t added = 0;
    size_t position = 0;         // of the next document
    std::unique_ptr<Runs> runs;  // null: nothing may go to the disk
    const RunOrder::Item* last = nullptr;
    bool again = false;  // the last one comes again
};

void DocumentSorter::State::spill() {
    DCHECK(!entries.empty());
    sort();
    runs->add([this](spill::Run& run) {
        for (Entry& entry : entries) {
            const Head head{entry.tag, entry.order, entry.details};
            run.append({reinterpret_cast<const uint8_t*>(&head), sizeof head}, entry.key().bytes(),
                       entry.doc().bytes());
            entry.bytes.reset();
        }
        entries.clear();
    });
    bytes = 0;
}

DocumentSorter::DocumentSorter(const SortPattern& pattern, int64_t limit, const std::string* disk)
    : state_(std::make_unique<State>(pattern, limit, disk)) {}

DocumentSorter::~DocumentSorter() = default;

template <typename Step>
void DocumentSorter::try_to(Step&& step) {
    try {
        step();
    } catch (const base::Error& e) {
        if (sched::is_end_of_work(e)) throw;
        throw SortError(e);
    }
}

void DocumentSorter::add(Doc doc, uint64_t tag, const MatchDetails& details) {
    make_key(doc);
    add_by_key(doc, tag, details);
}

void DocumentSorter::make_key(Doc doc) {
    try_to([&] {
        state_->key.clear();
        state_->pattern.append_key(doc, state_->key);
    });
}

void DocumentSorter::add_by_key(Doc doc, uint64_t tag, const MatchDetails& details) {
    try_to([&] { state_->add(doc, tag, details); });
}

void DocumentSorter::State::add(Doc doc, uint64_t tag, const MatchDetails& details) {
    DCHECK(key.size() != 0 && static_cast<size_t>(Doc(key.data()).size()) == key.size());
    ++added;
    if (limit != 0 && entries.size() == limit) {
        // The first of two that are equal in everything stays.
        if (compare(Doc(key.data()), tag, entries.front()) >= 0) return;
        drop_last();
    }
    const auto doc_size = static_cast<size_t>(doc.size());
    Entry entry;
    entry.bytes = sched::make_bytes(key.size() + doc_size);
    std::memcpy(entry.bytes.get(), key.data(), key.size());
    std::memcpy(entry.bytes.get() + key.size(), doc.data(), doc_size);
    entry.tag = tag;
    entry.order = arrivals++;
    entry.details = details;
    keep(std::move(entry), doc.size());
}

void DocumentSorter::finish() {
    State& s = *state_;
    if (s.on_disk()) {
        if (!s.entries.empty()) s.spill();
        s.runs->finish();
    } else {
        s.sort();
    }
    s.position = 0;
}

int64_t DocumentSorter::bytes() const {
    return state_->bytes;
}

bool DocumentSorter::has_left_out() const {
    return state_->limit != 0 && state_->added > state_->limit;
}

void DocumentSorter::put_back() {
    DCHECK(state_->position > 0 && !state_->again);
    --state_->position;
    state_->again = true;
}

bool DocumentSorter::next(Doc* doc, uint64_t* tag, MatchDetails* details) {
    State& s = *state_;
    const bool again = std::exchange(s.again, false);
    if (s.on_disk()) {
        if (s.limit != 0 && s.position == s.limit) return false;
        if (!again) s.last = s.runs->next();
        if (s.last == nullptr) return false;
        ++s.position;
        *doc = s.last->doc();
        *tag = s.last->head.tag;
        *details = s.last->head.details;
        return true;
    }
    DCHECK(s.position <= s.entries.size());
    if (s.position == s.entries.size()) return false;
    const State::Entry& entry = s.entries[s.position++];
    *doc = entry.doc();
    *tag = entry.tag;
    *details = entry.details;
    return true;
}

}  // namespace query
