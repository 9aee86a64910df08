#include "query/plan/bounds.h"

#include "query/plan/place_bounds.h"

#include <algorithm>
#include <iterator>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "bson/field_path.h"
#include "bson/nan.h"
#include "query/match/regex.h"
#include "query/match/times.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Element;
using bson::Type;

PredicateBounds regex_bounds(const Regex& regex, const IndexField& field, ValueArena& arena) {
    const KeyConstants& k = key_constants();
    if (field.index.generator->collator() != nullptr) {
        bson::Builder same;
        same.append_regex("", regex.pattern(), regex.flags());
        return {{{k.empty_string, k.empty_object, true, false}, point(arena.keep(same.object()))},
                Tightness::check_document};
    }
    bool whole = false;
    const std::string prefix = regex.prefix(&whole);
    Interval strings{k.empty_string, k.empty_object, true, false};
    if (!prefix.empty()) {
        std::string after = prefix;
        after.back() = static_cast<char>(after.back() + 1);
        strings = {arena.keep(bson::make("", prefix)), arena.keep(bson::make("", after)), true,
                   false};
    }
    bson::Builder same;
    same.append_regex("", regex.pattern(), regex.flags());
    PredicateBounds result;
    result.intervals = {strings, point(arena.keep(same.object()))};
    // Symbols share the strings' range but answer like them, so a whole prefix decides.
    result.tightness = whole && !prefix.empty() ? Tightness::exact : Tightness::check_key;
    return result;
}

bool can_use_inside(const MatchNode& node, const IndexField& field);

PredicateBounds everything() {
    return {{all_values()}, Tightness::check_document};
}

// Returns the bounds of a value that a missing field equals.
PredicateBounds missing_bounds(const IndexField& field) {
    if (field.numbered) return everything();
    return {{nothing_there()}, Tightness::check_document};
}

PredicateBounds equality_bounds(const Element& value, const IndexField& field) {
    const KeyConstants& k = key_constants();
    switch (value.type()) {
        case Type::array: {
            const Element first = value.as_doc().first();
            PredicateBounds result{{point(value), point(first ? first : k.undefined)},
                                   Tightness::check_document};
            normalise(result.intervals);
            return result;
        }
        case Type::null:
            return missing_bounds(field);
        default:
            return {{point(value)}};
    }
}

// The keys have both classes of times. Two elements of an array may have become one key.
Tightness tightness_of_times(const IndexField& field) {
    return field.index.multikey ? Tightness::check_document : Tightness::check_key;
}

PredicateBounds range_bounds(const MatchNode& node, const IndexField& field) {
    const MatchKind kind = node.kind;
    const Element& value = node.operand;
    const bool less = kind == MatchKind::lt || kind == MatchKind::lte;
    const bool inclusive = kind == MatchKind::lte || kind == MatchKind::gte;
    DCHECK(less || kind == MatchKind::gt || kind == MatchKind::gte);
    const Type type = value.type();
    // Whole arrays are compared, and with MinKey and MaxKey everything is.
    if (type == Type::array || type == Type::min_key || type == Type::max_key) return everything();
    if (type == Type::null) return inclusive ? missing_bounds(field) : PredicateBounds{};
    PredicateBounds result;
    Interval interval = class_range(type);
    // Inside of a document the order of the index is another one.
    if (parts_times(node) && (type == Type::object || type == Type::code_with_scope))
        return {{interval}, Tightness::check_document};
    if (node.nan_apart && value.is_number()) {
        if (bson::is_nan(value)) return inclusive ? PredicateBounds{{point(value)}} : result;
        interval.low = key_constants().minus_infinity;
    }
    if (less) {
        interval.high = value;
        interval.high_inclusive = inclusive;
    } else {
        interval.low = value;
        interval.low_inclusive = inclusive;
    }
    if (!value.is_number() && type != Type::string && type != Type::object &&
        type != Type::binary && type != Type::object_id && type != Type::boolean &&
        type != Type::date)
        result.tightness = Tightness::check_document;
    if (parts_times(node)) result.tightness = std::max(result.tightness, tightness_of_times(field));
    if (!is_empty(interval)) result.intervals = {interval};
    return result;
}

// Inclusive: the documents decide, and large numbers are compared more exactly there.
PredicateBounds ends_bounds(const MatchNode& node, ValueArena& arena) {
    PredicateBounds result = everything();
    for (const auto& end : node.children) {
        Interval interval = all_values();
        const bool less = end->kind == MatchKind::lt || end->kind == MatchKind::lte;
        (less ? interval.high : interval.low) = end->operand;
        // The other class of times may be on the other side in the order of the index.
        if (bson::has_time(end->operand)) {
            const Type type = end->operand.type();
            const Interval low = class_range(type == Type::timestamp ? Type::date : type);
            const Interval high = class_range(type == Type::date ? Type::timestamp : type);
            (less ? interval.high : interval.low) = less ? high.high : low.low;
        }
        result.intervals = intersect(std::move(result.intervals), {interval}, arena);
    }
    return result;
}

PredicateBounds in_bounds(const MatchNode& node, const IndexField& field, ValueArena& arena) {
    PredicateBounds result;
    const auto add = sched::ticking([&](const PredicateBounds& one) {
        result.intervals.insert(result.intervals.end(), one.intervals.begin(), one.intervals.end());
        result.tightness = std::max(result.tightness, one.tightness);
    });
    for (const Element& value : node.values) {
        PredicateBounds one = equality_bounds(value, field);
        // Among several values null does not stand for undefined.
        if (value.type() == Type::null && !field.numbered)
            one.intervals = {point(key_constants().null)};
        add(one);
    }
    for (const auto& regex : node.regexes)
        add(regex_bounds(*regex, field, arena));
    normalise(result.intervals);
    return result;
}

IntervalList type_interval(int64_t type) {
    if (!bson::is_type(type)) return {all_values()};
    const auto t = static_cast<Type>(type);
    if (t == Type::array || t == Type::code_with_scope) return {all_values()};
    if (bson::is_number(t)) return {any_number()};
    if (t == Type::min_key) return {point(key_constants().min_key)};
    if (t == Type::max_key) return {point(key_constants().max_key)};
    Interval interval = class_range(t);
    interval.high_inclusive = true;  // as the old server's was; the document check excludes it
    return {interval};
}

PredicateBounds type_bounds(const MatchNode& node) {
    PredicateBounds result;
    if (node.types.empty()) result.intervals = type_interval(node.number);
    for (const int64_t type : node.types)
        std::ranges::move(type_interval(type), std::back_inserter(result.intervals));
    normalise(result.intervals);
    result.tightness = Tightness::check_document;
    return result;
}

// Keys of which each is sure to belong to a document that matches. `exact`: all others do not.
IntervalList sure_keys(const MatchNode& node, const IndexField& field, bool* exact,
                       ValueArena& arena) {
    *exact = false;
    if (parts_times(node)) return {};  // some keys are of the other class of times
    const bool equality = node.kind == MatchKind::eq || node.kind == MatchKind::in;
    if (!equality) {
        const PredicateBounds bounds = bounds_of(node, field, arena);
        *exact = bounds.tightness == Tightness::exact;
        return *exact ? bounds.intervals : IntervalList{};
    }
    *exact = node.regexes.empty();
    IntervalList keys;
    const auto add = sched::ticking([&](const Element& value) {
        const bool is_null = value.type() == Type::null;
        if (is_null || value.is_array()) *exact = false;
        if (!is_null || !field.nested) keys.push_back(point(value));
    });
    if (node.kind == MatchKind::eq) add(node.operand);
    for (const Element& value : node.values)
        add(value);
    normalise(keys);
    return keys;
}

PredicateBounds opposite_bounds(const MatchNode& node, const IndexField& field, ValueArena& arena) {
    // Each key of a document without the field is null.
    if (node.kind == MatchKind::exists)
        return {{point(key_constants().null)}, Tightness::check_document};
    bool exact = false;
    PredicateBounds result{complement(sure_keys(node, field, &exact, arena)), Tightness::exact};
    if (!exact || field.index.multikey) result.tightness = Tightness::check_document;
    return result;
}

// Returns the keys of one element of an array, as it is, that `node` may match.
IntervalList element_keys(const MatchNode& node, const IndexField& field, ValueArena& arena);

// Returns the keys that all usable predicates on one element allow.
IntervalList common_keys(const MatchNode& parent, const IndexField& field, ValueArena& arena) {
    IntervalList keys{all_values()};
    for (const auto& child : parent.children)
        if (can_use_inside(*child, field))
            keys = intersect(std::move(keys), element_keys(*child, field, arena), arena);
    return keys;
}

IntervalList element_keys(const MatchNode& node, const IndexField& field, ValueArena& arena) {
    switch (node.kind) {
        case MatchKind::elem_match_value:
            return {class_range(Type::array)};
        case MatchKind::conjunction:
        case MatchKind::all:
            return common_keys(node, field, arena);
        default:
            return bounds_of(node, field, arena).intervals;
    }
}

PredicateBounds elem_match_bounds(const MatchNode& node, const IndexField& field,
                                  ValueArena& arena) {
    PredicateBounds result{common_keys(node, field, arena), Tightness::check_document};
    if (field.numbered) {
        result.intervals.push_back(class_range(Type::array));
        normalise(result.intervals);
    }
    return result;
}

PredicateBounds hashed_bounds(const MatchNode& node, const IndexField& field, ValueArena& arena) {
    DCHECK(node.kind == MatchKind::eq || node.kind == MatchKind::in ||
           node.kind == MatchKind::always_false);
    DCHECK(node.regexes.empty());
    const auto seed = catalog::hash_seed(field.index.spec["seed"]);
    PredicateBounds result;
    result.tightness = Tightness::check_document;
    auto add = [&](const Element& value) {
        result.intervals.push_back(
            point(arena.keep(bson::make("", catalog::hash_value(value, seed)))));
    };
    if (node.kind == MatchKind::eq) {
        add(node.operand);
        if (node.operand.type() == Type::null) add(key_constants().undefined);
    }
    for (const Element& value : node.values)
        add(value);
    normalise(result.intervals);
    return result;
}

// Whether a document without the field may match.
bool takes_missing(const MatchNode& node) {
    const auto is_null = [](const Element& e) { return e.type() == Type::null; };
    const auto is_end = [](const Element& e) {
        return e.type() == Type::min_key || e.type() == Type::max_key;
    };
    switch (node.kind) {
        case MatchKind::eq:
            return is_null(node.operand);
        case MatchKind::in:
            return std::ranges::any_of(node.values, is_null);
        case MatchKind::lt:
        case MatchKind::gt:
            return is_end(node.operand);
        case MatchKind::lte:
        case MatchKind::gte:
            return is_end(node.operand) || is_null(node.operand);
        case MatchKind::type:
            return node.number == 0 && node.types.empty();
        case MatchKind::negation:
        case MatchKind::ends:
            return true;
        default:
            return false;
    }
}

// Kinds whose bounds follow from their values, and so do those of their opposites.
bool compares_values(MatchKind kind) {
    switch (kind) {
        case MatchKind::eq:
        case MatchKind::in:
        case MatchKind::gt:
        case MatchKind::gte:
        case MatchKind::lt:
        case MatchKind::lte:
        case MatchKind::exists:
        case MatchKind::always_false:
            return true;
        default:
            return false;
    }
}

bool can_use_opposite(const MatchNode& node) {
    if (compares_values(node.kind)) return node.regexes.empty();  // $in may have some
    if (node.kind != MatchKind::all && node.kind != MatchKind::conjunction) return false;
    return node.children.size() == 1 && can_use_opposite(*node.children[0]);
}

// Decimals, and numbers from 2^53 on, equal numbers of another hash.
bool hash_tells(const Element& value) {
    sched::tick();
    if (value.type() == Type::decimal128 || bson::is_large_number(value)) return false;
    if (!value.is_object() && !value.is_array()) return true;
    for (const Element& member : value.as_doc())
        if (!hash_tells(member)) return false;
    return true;
}

bool can_use_hashes(const MatchNode& node) {
    if (node.kind == MatchKind::always_false) return true;
    const auto usable = [](const Element& e) { return !e.is_array() && hash_tells(e); };
    if (node.kind == MatchKind::eq) return usable(node.operand);
    return node.kind == MatchKind::in && node.regexes.empty() &&
           std::ranges::all_of(node.values, usable);
}

// Apart from what documents the index has.
bool has_bounds(const MatchNode& node, const IndexField& field) {
    if (compares_values(node.kind)) return true;
    switch (node.kind) {
        case MatchKind::regex:
        case MatchKind::mod:
        case MatchKind::bits:
        case MatchKind::type:
        case MatchKind::ends:
            return true;
        case MatchKind::negation:
            return can_use_opposite(*node.children[0]);
        case MatchKind::conjunction:
        case MatchKind::all:
        case MatchKind::elem_match_value:
            return std::ranges::any_of(
                node.children, [&](const auto& child) { return can_use_inside(*child, field); });
        default:
            return false;
    }
}

// Whether what it compares texts with are keys as the index has them.
bool has_collation_of(const MatchNode& node, const catalog::KeyGenerator& generator) {
    sched::tick();
    const collation::Collator* const collator = generator.collator();
    if (node.collator != nullptr && !collation::is_same(node.collator, collator)) return false;
    if (node.collator == nullptr && collator != nullptr &&
        (collation::has_text(node.operand) ||
         std::ranges::any_of(node.values, collation::has_text)))
        return false;
    return std::ranges::all_of(
        node.children, [&](const auto& child) { return has_collation_of(*child, generator); });
}

// Whether no array as a whole can match.
bool compares_no_array(const MatchNode& node) {
    const auto is_sure = [](const Element& e) {
        return !e.is_array() && e.type() != Type::min_key && e.type() != Type::max_key;
    };
    switch (node.kind) {
        case MatchKind::eq:
        case MatchKind::lt:
        case MatchKind::lte:
        case MatchKind::gt:
        case MatchKind::gte:
            return is_sure(node.operand);
        case MatchKind::in:
            return std::ranges::all_of(node.values, is_sure);
        default:
            return node.kind == MatchKind::regex;
    }
}

// Whether bounds can be made of a predicate on the value of one element.
bool can_use_inside(const MatchNode& node, const IndexField& field) {
    return node.kind == MatchKind::elem_match_value || has_bounds(node, field);
}

}  // namespace

IndexField::IndexField(const catalog::Index& of, size_t number) : index(of), place(number) {
    DCHECK(number < of.generator->fields().size());
    // For each index whenever a query is planned: no bson::FieldPath, which allocates.
    std::string_view rest = of.generator->fields()[number];
    for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.')) {
        nested = true;
        rest.remove_prefix(dot + 1);
        const std::string_view part = rest.substr(0, rest.find('.'));
        numbered = numbered || bson::parse_array_index(part) != bson::FieldPath::kNoIndex;
    }
    nameless = nested && rest.empty();
}

bool can_use(const MatchNode& node, const IndexField& field) {
    if (field.index.is_special) {
        if (place_kind(field.index, field.place) != geo::IndexKind::none)
            return can_use_places(node, field.index, field.place);
        // Beside other places arrays are kept whole; beside those on the sphere [] is null.
        if (field.index.generator->geo() != geo::IndexKind::sphere || !compares_no_array(node))
            return false;
    }
    if (node.kind == MatchKind::geo) return false;
    if (!has_collation_of(node, *field.index.generator)) return false;
    if (field.nameless || (field.index.sparse && takes_missing(node))) return false;
    if (field.index.generator->hashed()) return can_use_hashes(node);
    return has_bounds(node, field);
}

PredicateBounds bounds_of(const MatchNode& node, const IndexField& field, ValueArena& arena) {
    if (field.index.generator->hashed()) return hashed_bounds(node, field, arena);
    if (node.kind == MatchKind::geo)
        return {place_bounds(node, field.index, arena), Tightness::check_document};
    DCHECK(has_bounds(node, field));
    if (parts_times(node) && (node.kind == MatchKind::eq || node.kind == MatchKind::in)) {
        // The other class of times may have the same key; so may another element of an array.
        PredicateBounds result = node.kind == MatchKind::eq ? equality_bounds(node.operand, field)
                                                            : in_bounds(node, field, arena);
        result.tightness = std::max(result.tightness, tightness_of_times(field));
        return result;
    }
    switch (node.kind) {
        case MatchKind::eq:
            return equality_bounds(node.operand, field);
        case MatchKind::gt:
        case MatchKind::gte:
        case MatchKind::lt:
        case MatchKind::lte:
            return range_bounds(node, field);
        case MatchKind::in:
            return in_bounds(node, field, arena);
        case MatchKind::regex:
            return regex_bounds(*node.regexes.front(), field, arena);
        case MatchKind::always_false:
            return {};
        case MatchKind::mod:
            return {{any_number()}, Tightness::check_key};
        case MatchKind::bits:
            return {{any_number(), class_range(Type::binary)}, Tightness::check_key};
        case MatchKind::type:
            return type_bounds(node);
        case MatchKind::exists:
            // In a sparse index of one field each key stands for a field that exists.
            return {{all_values()},
                    field.index.sparse && field.index.generator->fields().size() == 1
                        ? Tightness::exact
                        : Tightness::check_document};
        case MatchKind::ends:
            return ends_bounds(node, arena);
        case MatchKind::negation:
            DCHECK(node.children.size() == 1);
            return opposite_bounds(*node.children[0], field, arena);
        case MatchKind::conjunction:
        case MatchKind::all:
            DCHECK(node.children.size() == 1);
            // Under $not, of one; several on one element are in elem_match_bounds().
            return bounds_of(*node.children[0], field, arena);
        case MatchKind::elem_match_value:
            return elem_match_bounds(node, field, arena);
        default:
            return everything();
    }
}

}  // namespace query
