#include "query/match/implication.h"

#include <algorithm>
#include <utility>

#include "bson/compare.h"
#include "bson/nan.h"
#include "query/match/times.h"
#include "sched/counted.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Element;
using bson::Type;

bool same_value(const Element& a, const Element& b) {
    if (a.type() != b.type()) return false;
    return a.missing() || std::ranges::equal(a.value_bytes(), b.value_bytes());
}

// Whether all that is found by `a` is so by `b`, for all that one of them takes Dates and
// Timestamps for two classes: of what is inside of documents their orders differ.
bool orders_alike(const MatchNode& a, const MatchNode& b) {
    return parts_times(a) == parts_times(b) || a.kind == MatchKind::eq || a.kind == MatchKind::in ||
           bson::is_time(a.operand);
}

// Whether both are written alike, in the order in which parsing puts clauses. Schemas and $expr
// are not compared, and a chance is another one each time.
bool same(const MatchNode& a, const MatchNode& b) {
    sched::tick();
    if (a.kind == MatchKind::schema || a.kind == MatchKind::expression ||
        a.kind == MatchKind::geo || a.kind == MatchKind::near || a.kind == MatchKind::sample)
        return false;
    const auto same_regex = [](const auto& one, const auto& other) {
        return one->pattern() == other->pattern() && one->flags() == other->flags();
    };
    const auto same_bits = [](const auto& one, const auto& other) {
        return one == nullptr || *one == *other;
    };
    return a.kind == b.kind && same_bits(a.bit_test, b.bit_test) &&
           collation::is_same(a.collator, b.collator) && a.path == b.path && a.number == b.number &&
           a.remainder == b.remainder &&
           (a.nan_apart == b.nan_apart || parts_times(a) || parts_times(b)) && orders_alike(a, b) &&
           a.types == b.types && same_value(a.operand, b.operand) &&
           std::ranges::equal(a.values, b.values, same_value) &&
           std::ranges::equal(a.regexes, b.regexes, same_regex) &&
           std::ranges::equal(a.children, b.children,
                              [](const auto& x, const auto& y) { return same(*x, *y); });
}

// Whether the values that are compared with it, all of its class, have one order with it. Numbers
// from 2^53 on have none (bson/compare.h), nor has NaN, which some comparisons leave out, nor have
// documents, which may hold some; null stands for what is missing, and whole arrays, MinKey and
// MaxKey are compared with more than their class.
bool has_place(const Element& value) {
    switch (value.type()) {
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::decimal128:
            return !bson::is_large_number(value) && !bson::is_nan(value);
        case Type::string:
        case Type::object_id:
        case Type::boolean:
        case Type::date:
            return true;
        default:
            return false;
    }
}

// Whether each value that compares so with `value` compares as `wide` says with `bound`.
bool follows(MatchKind narrow, const Element& value, MatchKind wide, const Element& bound) {
    if (!has_place(value) || !has_place(bound) || value.canonical() != bound.canonical())
        return false;
    const int order = bson::compare_values(value, bound);
    const bool up = narrow == MatchKind::gt || narrow == MatchKind::gte || narrow == MatchKind::eq;
    const bool down =
        narrow == MatchKind::lt || narrow == MatchKind::lte || narrow == MatchKind::eq;
    switch (wide) {
        case MatchKind::eq:
            return narrow == MatchKind::eq && order == 0;
        case MatchKind::gt:
            return up && (order > 0 || (order == 0 && narrow == MatchKind::gt));
        case MatchKind::gte:
            return up && order >= 0;
        case MatchKind::lt:
            return down && (order < 0 || (order == 0 && narrow == MatchKind::lt));
        case MatchKind::lte:
            return down && order <= 0;
        default:
            return false;
    }
}

bool is_comparison(MatchKind kind) {
    return kind == MatchKind::eq || kind == MatchKind::lt || kind == MatchKind::lte ||
           kind == MatchKind::gt || kind == MatchKind::gte;
}

// Whether a list is sure to have all that equals `value`. It is searched by its order.
bool has_in(const sched::Vector<Element>& list, const Element& value) {
    const auto has_order = sched::ticking(
        [](const Element& one) { return has_place(one) || one.type() == Type::null; });
    const auto is_equal = [&value](const Element& one) {
        return follows(MatchKind::eq, value, MatchKind::eq, one);
    };
    return std::ranges::all_of(list, has_order) && std::ranges::any_of(list, is_equal);
}

// Whether a comparison with `value` at the path of `narrow` implies a filter. `value` is one of
// `narrow`, under its collation.
bool comparison_implies(const MatchNode& narrow, MatchKind kind, const Element& value,
                        const MatchNode& wide) {
    sched::tick();
    const auto by_this = [&](const auto& child) {
        return comparison_implies(narrow, kind, value, *child);
    };
    if (wide.kind == MatchKind::conjunction) return std::ranges::all_of(wide.children, by_this);
    if (wide.kind == MatchKind::disjunction) return std::ranges::any_of(wide.children, by_this);
    if (wide.path != narrow.path) return false;
    if (collation::has_text(value) && !collation::is_same(narrow.collator, wide.collator))
        return false;
    if (wide.kind == MatchKind::in) return kind == MatchKind::eq && has_in(wide.values, value);
    // To the one Dates and Timestamps are one class, to the other two, so the other way round less
    // is matched, which is not what it says of one value.
    const bool parted = parts_times(wide);
    if (parts_times(narrow) != parted && (parted || !bson::is_time(value))) return false;
    // NaN is below all numbers here, and below none there.
    if (wide.nan_apart && !narrow.nan_apart && (kind == MatchKind::lt || kind == MatchKind::lte))
        return false;
    return is_comparison(wide.kind) && follows(kind, value, wide.kind, wide.operand);
}

bool has_null(const MatchNode& node) {
    const auto is_null =
        sched::ticking([](const Element& value) { return value.type() == Type::null; });
    return is_null(node.operand) || std::ranges::any_of(node.values, is_null);
}

// Whether what it matches has a value at its path.
bool needs_value(const MatchNode& node) {
    switch (node.kind) {
        case MatchKind::eq:
        case MatchKind::in:
            return !has_null(node);
        case MatchKind::lt:
        case MatchKind::lte:
        case MatchKind::gt:
        case MatchKind::gte:
            return has_place(node.operand) || node.operand.is_number();
        case MatchKind::regex:
        case MatchKind::mod:
        case MatchKind::bits:
        case MatchKind::size:
        case MatchKind::elem_match_object:
        case MatchKind::elem_match_value:
            return true;
        // 0 is that of what is missing.
        case MatchKind::type:
            return (node.types.empty() ? node.number : node.types[0]) > 0;
        // {$ne: null}. On a longer path it may find an array that it does not lead into.
        case MatchKind::negation: {
            const MatchNode& child = *node.children[0];
            return (child.kind == MatchKind::eq || child.kind == MatchKind::in) &&
                   has_null(child) && node.steps.size() == 1;
        }
        default:
            return false;
    }
}

// A $type by number is about elements of arrays, one by name also about the whole array.
bool type_follows(const MatchNode& narrow, const MatchNode& wide) {
    const auto in_wide = [&wide](int64_t type) {
        return std::ranges::binary_search(wide.types, type);
    };
    if (wide.types.empty())
        return narrow.types.size() == 1 && narrow.types[0] == wide.number &&
               wide.number != static_cast<int64_t>(Type::array);
    return narrow.types.empty() ? in_wide(narrow.number)
                                : std::ranges::all_of(narrow.types, in_wide);
}

bool leaf_implies(const MatchNode& narrow, const MatchNode& wide) {
    if (narrow.path != wide.path) return false;
    if (wide.kind == MatchKind::exists) return needs_value(narrow);
    if (wide.kind == MatchKind::type)
        return narrow.kind == MatchKind::type && type_follows(narrow, wide);
    return false;
}

class Implication {
  public:
    bool holds(const MatchNode& narrow, const MatchNode& wide) {
        sched::tick();
        // Trees in each other lead here by many ways.
        if (failed_.contains({&narrow, &wide})) return false;
        const bool found = same(narrow, wide) || find(narrow, wide);
        if (!found) failed_.emplace(&narrow, &wide);
        return found;
    }

  private:
    bool find(const MatchNode& narrow, const MatchNode& wide) {
        const auto by_narrow = [&](const auto& child) { return holds(*child, wide); };
        const auto by_wide = [&](const auto& child) { return holds(narrow, *child); };
        switch (wide.kind) {
            case MatchKind::always_true:
                return true;
            case MatchKind::conjunction:
                return std::ranges::all_of(wide.children, by_wide);
            default:
                break;
        }
        if (narrow.kind == MatchKind::always_false) return true;
        if (narrow.kind == MatchKind::disjunction)
            return std::ranges::all_of(narrow.children, by_narrow);
        if (wide.kind == MatchKind::disjunction && std::ranges::any_of(wide.children, by_wide))
            return true;
        switch (narrow.kind) {
            case MatchKind::conjunction:
            case MatchKind::all:
                return std::ranges::any_of(narrow.children, by_narrow);
            case MatchKind::in:
                if (narrow.regexes.empty() && each_value_implies(narrow, wide)) return true;
                break;
            default:
                if (is_comparison(narrow.kind) &&
                    comparison_implies(narrow, narrow.kind, narrow.operand, wide))
                    return true;
                break;
        }
        return leaf_implies(narrow, wide);
    }

    static bool each_value_implies(const MatchNode& narrow, const MatchNode& wide) {
        return std::ranges::all_of(narrow.values, [&](const Element& value) {
            return comparison_implies(narrow, MatchKind::eq, value, wide);
        });
    }

    sched::Set<std::pair<const MatchNode*, const MatchNode*>> failed_;
};

}  // namespace

bool implies(const MatchNode& narrow, const MatchNode& wide) {
    return Implication().holds(narrow, wide);
}

}  // namespace query
