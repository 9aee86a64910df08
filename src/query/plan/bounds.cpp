#include "query/plan/bounds.h"

#include <cmath>

#include "base/operation.h"
#include "query/match/regex.h"

namespace query {

namespace {

using bson::Element;
using bson::Type;

PredicateBounds regex_bounds(const Regex& regex, ValueArena& arena) {
    const KeyConstants& k = key_constants();
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

PredicateBounds equality_bounds(const Element& value) {
    const KeyConstants& k = key_constants();
    PredicateBounds result;
    switch (value.type()) {
        case Type::array: {
            // Stored arrays give one key per element (an empty one gives undefined); an array
            // inside an array is a key of its own.
            const Element first = value.as_doc().first();
            result.intervals = {point(value), point(first ? first : k.undefined)};
            normalise(result.intervals);
            result.tightness = Tightness::check_document;
            break;
        }
        case Type::null:
            // Missing fields are stored as null, but so are paths that end in an array.
            result.intervals = {point(k.null)};
            result.tightness = Tightness::check_document;
            break;
        default:
            result.intervals = {point(value)};
    }
    return result;
}

PredicateBounds range_bounds(MatchKind kind, const Element& value, const catalog::Index& index) {
    PredicateBounds result;
    const bool less = kind == MatchKind::lt || kind == MatchKind::lte;
    const bool inclusive = kind == MatchKind::lte || kind == MatchKind::gte;
    if (value.type() == Type::min_key || value.type() == Type::max_key) {
        // Against MinKey and MaxKey every other value compares, missing ones included.
        const bool whole = less ? value.type() == Type::max_key : value.type() == Type::min_key;
        if (whole) {
            result.intervals = {all_values()};
        } else if (inclusive) {
            result.intervals = {point(value)};
        }
        return result;
    }
    if (value.type() == Type::null) return inclusive ? equality_bounds(value) : result;
    if (value.is_array() && index.multikey) {
        // Whole arrays are compared, but only their elements are in the index.
        result.intervals = {all_values()};
        result.tightness = Tightness::check_document;
        return result;
    }
    const bool nan = value.is_number() && std::isnan(value.to_double());
    Interval interval = class_range(value.type());
    if (nan) {
        // NaN equals only itself here; what else it matches the document check says.
        interval.low = value;
        interval.low_inclusive = less || inclusive;
        result.tightness = Tightness::check_document;
    } else if (less) {
        interval.high = value;
        interval.high_inclusive = inclusive;
    } else {
        interval.low = value;
        interval.low_inclusive = inclusive;
    }
    const Type type = value.type();
    // The ends of all dates stand for those of the timestamps as well (index_scan.cpp).
    const KeyConstants& k = key_constants();
    const bool date = type == Type::date && value.as_date() != k.lowest_date.as_date() &&
                      value.as_date() != k.highest_date.as_date();
    if (!date && !value.is_number() && type != Type::string && type != Type::object &&
        type != Type::binary && type != Type::object_id && type != Type::boolean && !nan)
        result.tightness = Tightness::check_document;
    // From beyond the end of the old server's range a timestamp goes to the last one.
    if (!less && type == Type::timestamp && is_empty(interval))
        interval.high = key_constants().last_timestamp;
    if (!is_empty(interval)) result.intervals = {interval};
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

PredicateBounds hashed_bounds(const MatchNode& node, const catalog::Index& index,
                              ValueArena& arena) {
    const auto seed = catalog::hash_seed(index.spec["seed"]);
    PredicateBounds result;
    result.tightness = Tightness::check_document;
    auto add = [&](const Element& value) {
        result.intervals.push_back(
            point(arena.keep(bson::make("", catalog::hash_value(value, seed)))));
    };
    if (node.kind == MatchKind::eq) {
        add(node.operand);
    } else {
        for (const Element& value : node.values)
            add(value);
    }
    normalise(result.intervals);
    return result;
}

void weaken(Tightness& a, Tightness b) {
    a = std::max(a, b);
}

}  // namespace

bool can_use(const MatchNode& node, const catalog::Index& index, bool negated) {
    const bool hashed = index.generator != nullptr && index.generator->hashed();
    if (hashed) {
        if (negated) return false;
        if (node.kind == MatchKind::always_false) return true;
        if (node.kind == MatchKind::eq) return !node.operand.is_array();
        if (node.kind != MatchKind::in || !node.regexes.empty()) return false;
        for (const Element& value : node.values)
            if (value.is_array()) return false;
        return true;
    }
    switch (node.kind) {
        case MatchKind::eq:
            // A sparse index does not hold documents without the field. Of all predicates that
            // reach them the old server looked only at this one.
            return !index.sparse || node.operand.type() != Type::null || negated;
        case MatchKind::in:
            return !negated || node.regexes.empty();
        case MatchKind::gt:
        case MatchKind::gte:
        case MatchKind::lt:
        case MatchKind::lte:
        case MatchKind::exists:
        case MatchKind::always_false:
            return true;
        case MatchKind::regex:
        case MatchKind::mod:
        case MatchKind::type:
            return !negated;
        case MatchKind::negation:
            if (negated || index.multikey || node.children.size() != 1) return false;
            if (index.sparse) return false;
            return can_use(*node.children[0], index, true);
        case MatchKind::conjunction:
        case MatchKind::all: {
            for (const auto& child : node.children)
                if (!can_use(*child, index, negated)) return false;
            return !node.children.empty() && (!negated || node.children.size() == 1);
        }
        case MatchKind::elem_match_value:
            if (negated) return false;
            for (const auto& child : node.children)
                if (can_use(*child, index, false)) return true;
            return false;
        default:
            return false;
    }
}

PredicateBounds bounds_of(const MatchNode& node, const catalog::Index& index, ValueArena& arena) {
    if (index.generator != nullptr && index.generator->hashed())
        return hashed_bounds(node, index, arena);
    PredicateBounds result;
    switch (node.kind) {
        case MatchKind::eq:
            return equality_bounds(node.operand);
        case MatchKind::gt:
        case MatchKind::gte:
        case MatchKind::lt:
        case MatchKind::lte:
            return range_bounds(node.kind, node.operand, index);
        case MatchKind::in:
            for (const Element& value : node.values) {
                base::Operation::tick();
                const PredicateBounds one = equality_bounds(value);
                result.intervals.insert(result.intervals.end(), one.intervals.begin(),
                                        one.intervals.end());
                weaken(result.tightness, one.tightness);
            }
            for (const auto& regex : node.regexes) {
                const PredicateBounds one = regex_bounds(*regex, arena);
                result.intervals.insert(result.intervals.end(), one.intervals.begin(),
                                        one.intervals.end());
                weaken(result.tightness, one.tightness);
            }
            normalise(result.intervals);
            return result;
        case MatchKind::regex:
            return regex_bounds(*node.regexes.front(), arena);
        case MatchKind::always_false:
            return result;
        case MatchKind::mod:
            result.intervals = {any_number()};
            result.tightness = Tightness::check_key;
            return result;
        case MatchKind::type:
            if (node.types.empty()) result.intervals = type_interval(node.number);
            for (const int64_t type : node.types)
                std::ranges::move(type_interval(type), std::back_inserter(result.intervals));
            normalise(result.intervals);
            result.tightness = Tightness::check_document;
            return result;
        case MatchKind::exists:
            result.intervals = {all_values()};
            // In a sparse index of one field each key stands for a field that exists.
            result.tightness = index.sparse && index.generator->fields().size() == 1
                                   ? Tightness::exact
                                   : Tightness::check_document;
            return result;
        case MatchKind::negation: {
            const MatchNode& child = *node.children[0];
            if (child.kind == MatchKind::exists) {
                result.intervals = {point(key_constants().null)};
                result.tightness = Tightness::check_document;
                return result;
            }
            result = bounds_of(child, index, arena);
            if (child.kind == MatchKind::eq && child.operand.type() == Type::null) {
                // Not null means neither null nor undefined nor missing.
                result.tightness = Tightness::check_document;
            } else if (result.tightness != Tightness::exact) {
                result.intervals = {all_values()};
                result.tightness = Tightness::check_document;
                return result;
            }
            result.intervals = complement(result.intervals);
            return result;
        }
        case MatchKind::conjunction:
        case MatchKind::all:
        case MatchKind::elem_match_value: {
            bool first = true;
            for (const auto& child : node.children) {
                if (!can_use(*child, index)) continue;
                const PredicateBounds one = bounds_of(*child, index, arena);
                const bool narrow = node.kind != MatchKind::all &&
                                    (node.kind == MatchKind::elem_match_value || !index.multikey);
                if (first || narrow) {
                    result.intervals =
                        first ? one.intervals : intersect(result.intervals, one.intervals, arena);
                }
                weaken(result.tightness, one.tightness);
                first = false;
            }
            if (node.kind == MatchKind::elem_match_value || node.children.size() > 1)
                result.tightness = Tightness::check_document;
            return result;
        }
        default:
            result.intervals = {all_values()};
            result.tightness = Tightness::check_document;
            return result;
    }
}

}  // namespace query
