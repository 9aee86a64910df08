#include "catalog/index_keys.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <typeinfo>
#include <utility>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/field_path.h"
#include "bson/json.h"
#include "catalog/collation.h"
#include "catalog/mixed_times.h"
#include "catalog/value_hash.h"
#include "query/match/times.h"
#include "sched/tick.h"
#include "storage/index_limits.h"
#include "storage/sorted_index.h"

namespace catalog {

namespace {

using bson::Doc;
using bson::Element;
using bson::FieldPath;

constexpr uint8_t kUndefinedBytes[] = {static_cast<uint8_t>(bson::Type::undefined), 0};
const Element kUndefined(kUndefinedBytes);

// Looking for a field may mean to go over the whole document: so many bytes for a tick
// (sched/tick.h).

// Follows a path from `*part` on through documents, up to its end or the first array. Missing where
// it leads nowhere. `*part` ends behind the last part used.
Element follow(Doc doc, const FieldPath& path, size_t* part) {
    sched::tick_bytes(doc.size(), sched::PerTick::walked, 0);
    Element e = doc[path.part((*part)++)];
    while (*part < path.size()) {
        if (e.is_array()) return e;
        if (!e.is_object()) return Element();
        e = e.as_doc()[path.part((*part)++)];
    }
    return e;
}

Element element_at(Doc array, int64_t index) {
    for (const Element& e : array)
        if (index-- == 0) return e;
    return Element();
}

// The state of one field of the key while a document is being expanded.
struct Slot {
    bool done = false;  // `value` is final (missing: null)
    Element value;
    size_t part = 0;  // first part of the path still to be followed
};

// A path that goes on by index in the array being expanded leads to the same place for each
// element.
struct ByIndex {
    Element member;   // the array's element of that index; missing: the path does not go by index
    Element reached;  // where the path leads from there: its end or the next array
    size_t part = 0;
};

static_assert(KeyGenerator::kFieldsMax == storage::kKeyFieldsMax);
using Slots = std::array<Slot, KeyGenerator::kFieldsMax>;
using ByIndexes = std::array<ByIndex, KeyGenerator::kFieldsMax>;

// Derives the keys of one document (mmapv1 spec 6.3).
class Expansion {
  public:
    Expansion(const std::vector<FieldPath>& paths, bool sparse, KeySet& out)
        : paths_(paths), sparse_(sparse), out_(out) {}

    void run(Doc doc) {
        level(0).slots = Slots();
        expand(0, doc, nullptr, 0, nullptr);
    }

  private:
    // One level for each array inside another one. They are not on the stack: there may be a
    // thousand.
    struct Level {
        Slots slots;         // of what is being expanded at this level
        ByIndexes by_index;  // of the array that these have met
    };
    Level& level(size_t depth) {
        while (levels_.size() <= depth)
            levels_.push_back(std::make_unique<Level>());
        return *levels_[depth];
    }

    // `doc`: where the open paths of the level's slots go on. `by_index`: of the array that it is
    // in; null: in none. `missing`: how many fields were found to be missing.
    // `done_without`: whether a document before it, in the same array, has been expanded that had
    // nothing at any of these paths. Another one would give the same keys, for which an array that
    // paths reach by index might have to be gone over again. Null: each has to be expanded.
    void expand(size_t depth, Doc doc, const ByIndexes* by_index, size_t missing,
                bool* done_without) {
        if (++steps_ > kKeyStepsMax)
            base::fail(base::kExceededMemoryLimit,
                       "the index keys of one document need more than {} steps", kKeyStepsMax);
        Slots& slots = level(depth).slots;
        bool has_something = false;
        Element array;  // the one that open paths have met
        Element taken;  // an array that is a value as a whole, and yet may not stand beside others
        for (size_t i = 0; i < paths_.size(); ++i) {
            Slot& slot = slots[i];
            if (slot.done) continue;
            bool whole = false;
            const bool own = by_index == nullptr || (*by_index)[i].member.missing();
            const Element e = next(doc, i, by_index, &slot.part, &whole);
            has_something = has_something || (own && !e.missing());
            if (e.is_array()) {
                for (const Element& other : {array, taken})
                    if (other && other.raw() != e.raw())
                        base::fail(10088, "cannot index parallel arrays [{}] [{}]", e.name(),
                                   other.name());
                (whole ? taken : array) = e;
                if (!whole) continue;
            }
            slot.done = true;
            slot.value = whole && e.as_doc().empty() ? kUndefined : e;
            missing += e.missing() ? 1 : 0;
        }
        if (!has_something && done_without != nullptr && std::exchange(*done_without, true)) return;
        if (array)
            expand_array(depth, array, missing);
        else if (!sparse_ || missing < paths_.size())
            emit(slots);
    }

    Element next(Doc doc, size_t field, const ByIndexes* by_index, size_t* part, bool* whole) {
        const FieldPath& path = paths_[field];
        if (by_index == nullptr || (*by_index)[field].member.missing())
            return follow(doc, path, part);
        const ByIndex& target = (*by_index)[field];
        if (doc.has(path.part(*part)))
            base::fail(16746,
                       "Ambiguous field name found in array (do not use numeric field names in "
                       "embedded elements in an array), field: '{}' for array: {}",
                       path.part(*part), path.text());
        // An array inside an array, named by index at the path's end, counts as one value.
        *part = target.part;
        *whole = target.part == path.size() && target.member.is_array();
        return target.reached;
    }

    // One expansion per element; all open slots are at this array.
    void expand_array(size_t depth, const Element& array, size_t missing) {
        const Doc members = array.as_doc();
        Level& here = level(depth);
        const Slots& slots = here.slots;
        Slots& inner = level(depth + 1).slots;
        if (members.empty()) {
            copy_with_ends(slots, kUndefined, inner);
            expand(depth + 1, Doc(), nullptr, missing, nullptr);
            return;
        }
        ByIndexes& by_index = here.by_index;
        std::fill_n(by_index.begin(), paths_.size(), ByIndex());
        bool elements_are_values = false;
        for (size_t i = 0; i < paths_.size(); ++i) {
            const size_t part = slots[i].part;
            if (slots[i].done) continue;
            if (part == paths_[i].size()) {
                elements_are_values = true;
                continue;
            }
            if (paths_[i].index(part) == FieldPath::kNoIndex) continue;
            by_index[i] = go_by_index(members, paths_[i], part);
        }
        bool done_without = false;
        for (const Element& e : sched::ticked(members)) {
            copy_with_ends(slots, e, inner);
            expand(depth + 1, e.is_object() ? e.as_doc() : Doc(), &by_index, missing,
                   elements_are_values ? nullptr : &done_without);
        }
    }

    static ByIndex go_by_index(Doc members, const FieldPath& path, size_t part) {
        ByIndex target;
        target.member = element_at(members, path.index(part));
        target.reached = target.member;
        target.part = part + 1;
        if (target.part == path.size() || target.member.is_array()) return target;
        target.reached = target.member.is_object()
                             ? follow(target.member.as_doc(), path, &target.part)
                             : Element();
        return target;
    }

    // Fields whose path ends at the array take the element.
    void copy_with_ends(const Slots& slots, const Element& e, Slots& to) const {
        for (size_t i = 0; i < paths_.size(); ++i) {
            to[i] = slots[i];
            if (to[i].done || to[i].part < paths_[i].size()) continue;
            to[i].done = true;
            to[i].value = e;
        }
    }

    void emit(const Slots& slots) {
        const size_t start = out_.buffer().size();
        bson::Builder key(out_.buffer());
        for (size_t i = 0; i < paths_.size(); ++i) {
            if (slots[i].value)
                key.append_as("", slots[i].value);
            else
                key.append_null("");
        }
        key.finish();
        sched::tick();
        out_.add(start);
    }

    const std::vector<FieldPath>& paths_;
    const bool sparse_;
    KeySet& out_;
    int64_t steps_ = 0;
    std::vector<std::unique_ptr<Level>> levels_;
};

// A sort by "a." is one by "a". No index has such a field.
std::string_view without_empty_end(std::string_view path) {
    return path.substr(0, path.size() - (path.ends_with('.') ? 1 : 0));
}

// Whether the value is one of those that catalog/mixed_times.h is about.
bool stands_elsewhere(const Element& e) {
    constexpr int64_t kBetween = int64_t{1} << 48;
    sched::tick();
    if (e.type() == bson::Type::date) return e.as_date() >= kBetween;
    if (e.type() == bson::Type::timestamp) return e.as_timestamp() < uint64_t{kBetween};
    const bool scoped = e.type() == bson::Type::code_with_scope;
    if (!scoped && !e.is_object() && !e.is_array()) return false;
    for (const Element& member : scoped ? e.code_scope() : e.as_doc())
        if (stands_elsewhere(member)) return true;
    return false;
}

class BtreeKeyGenerator final : public KeyGenerator {
  public:
    explicit BtreeKeyGenerator(Doc spec) : KeyGenerator(spec) {
        for (const std::string& field : fields_)
            paths_.emplace_back(without_empty_end(field), storage::kStoredPartsMax);
    }

    void keys(Doc doc, KeySet& out) const override {
        out.clear();
        if (!plain_keys(doc, out)) {
            Expansion(paths_, sparse_, out).run(doc);
            if (out.size() > 1) out.normalise(descending_);
            for (size_t i = 0; i < out.size(); ++i)
                for (const Element& e : out[i])
                    note_time(e);
        }
    }

    bool mixes_times() const { return mixes_times_.load(std::memory_order_relaxed); }
    void set_mixes_times() const { mixes_times_.store(true, std::memory_order_relaxed); }
    bool knows_times() const { return knows_times_.load(std::memory_order_relaxed); }
    void set_knows_times() const { knows_times_.store(true, std::memory_order_relaxed); }

    // For each value of each key, before the key can be found in the index: who has learned the
    // order of the index (catalog/mixed_times.h) relies on it.
    void note_time(const Element& e) const {
        const bool may_be = e.type() == bson::Type::date || e.type() == bson::Type::timestamp ||
                            e.is_object() || e.is_array() ||
                            e.type() == bson::Type::code_with_scope;
        if (may_be && stands_elsewhere(e)) set_mixes_times();
    }

  private:
    // Makes the one key, or none, of a usual document, which has no array on any path. Returns
    // false if there is an array: the caller starts again.
    bool plain_keys(Doc doc, KeySet& out) const {
        bson::Builder key(out.buffer());
        size_t missing = 0;
        for (const FieldPath& path : paths_) {
            size_t part = 0;
            const Element e = follow(doc, path, &part);
            if (e.is_array()) {
                key.finish();
                out.clear();
                return false;
            }
            if (e) {
                key.append_as("", e);
                note_time(e);
            } else {
                key.append_null("");
                ++missing;
            }
        }
        key.finish();
        if (!sparse_ || missing < paths_.size()) out.add(0);
        return true;
    }

    std::vector<FieldPath> paths_;
    mutable std::atomic<bool> mixes_times_ = false;
    mutable std::atomic<bool> knows_times_ = false;
};

class HashedKeyGenerator : public KeyGenerator {
  public:
    explicit HashedKeyGenerator(Doc spec) : KeyGenerator(spec) {
        if (fields_.size() != 1)
            base::fail(16763, "Currently only single field hashed index supported.");
        if (spec["hashVersion"].to_int32() != 0)
            base::fail(16767, "hash version {} is not supported", spec["hashVersion"].to_int32());
        descending_ = 0;
        path_ = FieldPath(fields_[0], storage::kStoredPartsMax);
        seed_ = hash_seed(spec["seed"]);
        hashed_ = true;
    }

    void keys(Doc doc, KeySet& out) const override {
        out.clear();
        size_t part = 0;
        const Element e = follow(doc, path_, &part);
        if (e.is_array())
            base::fail(16766, "Error: hashed indexes do not currently support array values");
        if (e.missing() && sparse_) return;
        if (bson::has_decimal(e))
            base::fail(base::kCannotCreateIndex, "hashed indexes do not support decimal128: {}",
                       bson::to_text(e));
        bson::Builder key(out.buffer());
        key.append("", hash_value(e, seed_));
        key.finish();
        out.add(0);
    }

  private:
    FieldPath path_;
    int32_t seed_ = 0;
};

bool is_hashed(Doc pattern) {
    for (const Element& e : pattern)
        if (e.is_string() && e.as_string() == "hashed") return true;
    return false;
}

std::unique_ptr<KeyGenerator> make_for_all(Doc spec) {
    if (geo::index_kind(spec["key"].as_doc()) != geo::IndexKind::none) return make_geo_keys(spec);
    // Servers before 2.4 took "text" for a direction.
    if (spec["key"].as_doc().has("_fts") && text::is_text_key(spec["key"].as_doc()))
        return make_text_keys(spec);
    if (is_hashed(spec["key"].as_doc())) return std::make_unique<HashedKeyGenerator>(spec);
    return std::make_unique<BtreeKeyGenerator>(spec);
}

}  // namespace

void KeySet::refuse_size() {
    base::fail(base::kExceededMemoryLimit, "the index keys of one document need more than {} bytes",
               kKeysBytesMax);
}

void KeySet::normalise(uint32_t descending_bits) {
    const auto order = sched::ticking([&](uint32_t a, uint32_t b) {
        return bson::compare_keys(Doc(buffer_.data() + a), Doc(buffer_.data() + b),
                                  descending_bits);
    });
    std::stable_sort(offsets_.begin(), offsets_.end(),
                     [&](uint32_t a, uint32_t b) { return order(a, b) < 0; });
    const auto last = std::unique(offsets_.begin(), offsets_.end(),
                                  [&](uint32_t a, uint32_t b) { return order(a, b) == 0; });
    offsets_.erase(last, offsets_.end());
}

bool is_id_pattern(Doc key_pattern) {
    const bson::Element e = key_pattern.first();
    if (e.name() != "_id" || key_pattern.field_count() != 1) return false;
    if (e.type() == bson::Type::boolean) return e.as_bool();
    return e.is_number() && (e.to_int64() == 1 || e.to_int64() == -1);
}

KeyGenerator::KeyGenerator(Doc spec)
    : descending_(storage::descending_bits(spec["key"].as_doc())),
      sparse_(spec["sparse"].truthy()) {
    constexpr int64_t kTicksPerField = 4;
    for (const Element& e : sched::ticked(spec["key"].as_doc(), kTicksPerField))
        fields_.emplace_back(e.name());
    if (fields_.size() > kFieldsMax)
        base::fail(base::kCannotCreateIndex, "bad index key pattern: more than {} fields",
                   kFieldsMax);
}

std::unique_ptr<KeyGenerator> KeyGenerator::make(
    Doc spec, std::shared_ptr<const collation::Collator> collator) {
    std::unique_ptr<KeyGenerator> made = make_for_all(spec);
    if (collator != nullptr) made = make_collated_keys(std::move(made), std::move(collator));
    const Element filter = spec["partialFilterExpression"];
    return filter.is_object() ? make_partial_keys(std::move(made), filter.as_doc())
                              : std::move(made);
}

namespace {

// Returns the generator that makes the keys, also those of another one. Null where it is of another
// kind, such as of hashes.
const BtreeKeyGenerator* plain_generator(const KeyGenerator& generator) {
    const KeyGenerator* innermost = &generator;
    while (innermost->of() != nullptr)
        innermost = innermost->of();
    return typeid(*innermost) == typeid(BtreeKeyGenerator)
               ? static_cast<const BtreeKeyGenerator*>(innermost)
               : nullptr;
}

}  // namespace

bool mixes_times(const KeyGenerator& generator) {
    const BtreeKeyGenerator* const plain = plain_generator(generator);
    return plain != nullptr && plain->mixes_times();
}

void set_mixes_times(const KeyGenerator& generator) {
    if (const BtreeKeyGenerator* const plain = plain_generator(generator)) plain->set_mixes_times();
}

void note_times(const KeyGenerator& generator, Doc key) {
    const BtreeKeyGenerator* const plain = plain_generator(generator);
    if (plain == nullptr) return;
    for (const Element& e : key)
        plain->note_time(e);
}

bool knows_times(const KeyGenerator& generator) {
    const BtreeKeyGenerator* const plain = plain_generator(generator);
    return plain == nullptr || plain->knows_times();
}

void set_knows_times(const KeyGenerator& generator) {
    if (const BtreeKeyGenerator* const plain = plain_generator(generator)) plain->set_knows_times();
}

std::shared_ptr<const collation::Collator> collator_of(Doc spec) {
    const Element collation = spec["collation"];
    if (!asks_for_collation(collation)) return nullptr;
    return collation::Collator::make(collation.as_doc());
}

bson::Object readable_key(Doc key, const KeyGenerator& generator) {
    if (generator.collator() == nullptr) return bson::Object(key);
    bson::Builder out;
    for (const Element& e : key)
        collation::append_readable(e.name(), e, out);
    return out.object();
}

std::function<void(bson::Doc, bson::Doc, const std::function<void(bson::Doc)>&)> key_deriver() {
    auto generators = std::make_shared<std::map<const uint8_t*, std::unique_ptr<KeyGenerator>>>();
    return [generators](bson::Doc spec, bson::Doc doc, const std::function<void(bson::Doc)>& add) {
        auto& generator = (*generators)[spec.data()];
        if (generator == nullptr) generator = KeyGenerator::make(spec, collator_of(spec));
        KeySet keys;
        generator->keys(doc, keys);
        for (size_t i = 0; i < keys.size(); ++i)
            add(keys[i]);
    };
}

}  // namespace catalog
