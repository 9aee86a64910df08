// Evaluating match trees on documents (wire spec 4.2, semantics 1). Nothing here allocates, except
// PCRE for patterns that need much backtracking, walks along many numbers, an $all of many values,
// and texts under a collation.
#include <algorithm>
#include <limits>
#include <vector>

#include "bson/compare.h"
#include "bson/nan.h"
#include "bson/order_of_today.h"
#include "query/match/int64_range.h"
#include "query/match/match_tree.h"
#include "query/match/random_fraction.h"
#include "query/match/text_clause.h"
#include "query/match/times.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Doc;
using bson::Element;
using bson::Type;

// An $all looks for so many values one by one.
constexpr size_t kFewValues = 16;

bool is_nullish(const Element& e) {
    return e.type() == Type::null || e.type() == Type::undefined || e.missing();
}

// Uses `value` as it is compared under the node's collation.
template <typename Use>
bool use_key(const MatchNode& node, const Element& value, Use&& use) {
    if (node.collator == nullptr || !collation::has_text(value)) return use(value);
    const bson::Object key = node.collator->key_of(value);
    return use(key.doc().first());
}

// Whether one of them is NaN, and the other one no number that it is compared with.
bool lies_apart(const MatchNode& node, const Element& value) {
    return node.nan_apart && bson::is_nan(value) != bson::is_nan(node.operand);
}

bool compare(const MatchNode& node, const Element& value) {
    const Element& operand = node.operand;
    const bool times_apart = parts_times(node);
    if (value.canonical() != operand.canonical() ||
        (times_apart && value.type() != operand.type() && bson::is_time(value))) {
        if (is_nullish(value) && is_nullish(operand))
            return node.kind != MatchKind::lt && node.kind != MatchKind::gt;
        // The two ends of the order are compared with everything.
        if (operand.type() == Type::min_key || operand.type() == Type::max_key)
            return node.kind != MatchKind::eq;
        return false;
    }
    const int c = times_apart ? bson::compare_values_of_today(value, operand)
                              : bson::compare_values(value, operand);
    switch (node.kind) {
        case MatchKind::eq:
            return c == 0;
        case MatchKind::lt:
            return c < 0 && !lies_apart(node, value);
        case MatchKind::lte:
            return c == 0 || (c < 0 && !lies_apart(node, value));
        case MatchKind::gt:
            return c > 0 && !lies_apart(node, value);
        default:
            return c == 0 || (c > 0 && !lies_apart(node, value));
    }
}

bool regex_matches(const Regex& regex, const Element& value) {
    switch (value.type()) {
        case Type::string:
        case Type::symbol:
            return regex.search(value.as_string());
        case Type::regex:
            return value.regex_pattern() == regex.pattern() && value.regex_flags() == regex.flags();
        default:
            return false;
    }
}

bool has_type(const MatchNode& node, const Element& value) {
    const auto type = static_cast<int64_t>(value.type());
    if (node.types.empty()) return type == node.number;
    return std::ranges::binary_search(node.types, type);
}

bool in_values(const MatchNode& node, const Element& value) {
    // A missing field counts as null here, an undefined one does not.
    static constexpr uint8_t kNull[] = {static_cast<uint8_t>(Type::null), 0};
    const Element wanted = value.missing() ? Element(kNull) : value;
    const auto is_listed = [&node](const Element& key) {
        return parts_times(node)
                   ? std::ranges::binary_search(node.values, key, bson::ValueLessToday())
                   : std::ranges::binary_search(node.values, key, bson::ValueLess());
    };
    if (use_key(node, wanted, is_listed)) return true;
    if (value.missing()) return false;
    return std::any_of(node.regexes.begin(), node.regexes.end(),
                       [&](const auto& regex) { return regex_matches(*regex, value); });
}

// Counting the elements means to go over them all.
bool has_size(const MatchNode& node, const Element& array) {
    sched::tick_bytes(array.as_doc().size(), sched::PerTick::walked, 0);
    return array.as_doc().field_count() == node.number;
}

// The dividend of $mod: NaN and doubles beyond int64 count as the smallest int64, as the processor
// of the old server converted them.
int64_t dividend(const Element& value) {
    if (value.type() != Type::number_double) return value.to_int64();
    const double d = value.as_double();
    const bool fits = d >= -9223372036854775808.0 && d < 9223372036854775808.0;
    return fits ? static_cast<int64_t>(d) : std::numeric_limits<int64_t>::min();
}

bool mod_matches(const MatchNode& node, const Element& value) {
    if (!value.is_number()) return false;
    if (node.nan_apart && !fits_int64(value)) return false;
    if (node.number == -1) return node.remainder == 0;  // INT64_MIN % -1 traps
    return dividend(value) % node.number == node.remainder;
}

bool array_matches(const MatchNode& node, Doc array, uint32_t* index);

// Everything but logical nodes, on a value by itself.
bool leaf_matches(const MatchNode& node, const Element& value) {
    switch (node.kind) {
        case MatchKind::eq:
        case MatchKind::lt:
        case MatchKind::lte:
        case MatchKind::gt:
        case MatchKind::gte:
            return use_key(node, value, [&](const Element& key) { return compare(node, key); });
        case MatchKind::in:
            return in_values(node, value);
        case MatchKind::regex:
            return regex_matches(*node.regexes[0], value);
        case MatchKind::exists:
            return !value.missing();
        case MatchKind::type:
            return has_type(node, value);
        case MatchKind::mod:
            return mod_matches(node, value);
        case MatchKind::bits:
            return node.bit_test->matches(value);
        case MatchKind::size:
            return value.is_array() && has_size(node, value);
        case MatchKind::elem_match_object:
        case MatchKind::elem_match_value:
            return value.is_array() && array_matches(node, value.as_doc(), nullptr);
        case MatchKind::geo:
            return node.geo->matches(value);
        case MatchKind::always_true:
            return true;
        default:
            return false;
    }
}

bool all_match_value(const sched::Vector<std::unique_ptr<MatchNode>>& nodes, const Element& value) {
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](const auto& node) { return Matcher::matches_value(*node, value); });
}

// $elemMatch on an array: the first element that satisfies it.
bool array_matches(const MatchNode& node, Doc array, uint32_t* index) {
    uint32_t i = 0;
    for (const Element& e : sched::ticked(array)) {
        if (Matcher::element_matches(node, e)) {
            if (index != nullptr) *index = i;
            return true;
        }
        ++i;
    }
    return false;
}

void record(MatchDetails* details, int64_t index) {
    if (details == nullptr || !details->want_index || index < 0) return;
    details->has_index = true;
    details->array_index = static_cast<uint32_t>(index);
}

// Leaf operators over the values at the node's path.
bool leaf_matches_doc(const MatchNode& node, Doc doc, MatchDetails* details) {
    return visit_values(node.steps, doc, LeafArrays::expand, [&](const PathValue& found) {
        if (node.kind == MatchKind::type && found.whole_array && node.types.empty()) return false;
        if (!leaf_matches(node, found.value)) return false;
        record(details, found.array_index);
        return true;
    });
}

// $size and $elemMatch apply to arrays, not to their elements.
bool array_matches_doc(const MatchNode& node, Doc doc, MatchDetails* details) {
    return visit_values(node.steps, doc, LeafArrays::keep, [&](const PathValue& found) {
        if (!found.value.is_array()) return false;
        if (node.kind == MatchKind::size) {
            if (!has_size(node, found.value)) return false;
            record(details, found.array_index);
            return true;
        }
        uint32_t index = 0;
        if (!array_matches(node, found.value.as_doc(), &index)) return false;
        record(details, found.array_index < 0 ? index : found.array_index);
        return true;
    });
}

// $all of $elemMatch: one array has to satisfy every one of them.
bool all_elem_match(const MatchNode& node, Doc doc) {
    return visit_values(node.steps, doc, LeafArrays::keep, [&](const PathValue& found) {
        return found.value.is_array() &&
               std::all_of(node.children.begin(), node.children.end(), [&](const auto& child) {
                   return array_matches(*child, found.value.as_doc(), nullptr);
               });
    });
}

// $all of many values: those at the path are sorted once, so that each takes no look at all of
// them. Beyond 2^53 numbers have no order (bson/compare.h), and null may be what is missing.
bool has_all_values(const MatchNode& node, Doc doc) {
    std::vector<Element> found;
    const bool ordered =
        !visit_values(node.children[0]->steps, doc, LeafArrays::expand, [&](const PathValue& each) {
            if (!each.value.missing()) found.push_back(each.value);
            return bson::is_large_number(each.value);
        });
    const auto less =
        sched::ticking([](const Element& a, const Element& b) { return bson::ValueLess()(a, b); });
    if (ordered) std::ranges::sort(found, less);
    return std::ranges::all_of(node.children, [&](const auto& child) {
        const Element& wanted = child->operand;
        if (!ordered || child->kind != MatchKind::eq || child->collator != nullptr ||
            parts_times(*child) || is_nullish(wanted) || bson::is_large_number(wanted))
            return Matcher::matches(*child, doc, nullptr);
        return std::ranges::binary_search(found, wanted, less);
    });
}

bool text_matches(const MatchNode& node, Doc doc, MatchDetails* details) {
    double score = 0;
    if (!static_cast<const TextClause&>(*node.expression).matches(doc, &score)) return false;
    if (details != nullptr) details->score = score;
    return true;
}

bool is_elem_match(const MatchNode& node) {
    return node.kind == MatchKind::elem_match_object || node.kind == MatchKind::elem_match_value;
}

}  // namespace

Matcher::~Matcher() = default;

bool Matcher::matches(Doc doc, MatchDetails* details) const {
    if (details != nullptr) details->has_index = false;
    return matches(*root_, doc, details);
}

bool Matcher::matches(const MatchNode& node, Doc doc, MatchDetails* details) {
    sched::tick();
    const auto& children = node.children;
    switch (node.kind) {
        case MatchKind::conjunction:
            return std::all_of(children.begin(), children.end(),
                               [&](const auto& child) { return matches(*child, doc, details); });
        case MatchKind::disjunction:
            return std::any_of(children.begin(), children.end(), [&](const auto& child) {
                return matches(*child, doc, child->has_text ? details : nullptr);
            });
        case MatchKind::nor:
            return std::none_of(children.begin(), children.end(),
                                [&](const auto& child) { return matches(*child, doc); });
        case MatchKind::negation:
            return !matches(*children[0], doc);
        case MatchKind::schema:
            return node.schema->accepts(doc);
        case MatchKind::sample:
            return random_fraction() < node.operand.to_double();
        case MatchKind::near:
        case MatchKind::always_true:
            return true;
        case MatchKind::always_false:
            return false;
        case MatchKind::all:
            if (children.empty()) return false;
            if (is_elem_match(*children[0])) return all_elem_match(node, doc);
            if (children.size() > kFewValues && (details == nullptr || !details->want_index))
                return has_all_values(node, doc);
            return std::all_of(children.begin(), children.end(),
                               [&](const auto& child) { return matches(*child, doc, details); });
        case MatchKind::expression:
            return node.expression->matches(doc);
        case MatchKind::text:
            return text_matches(node, doc, details);
        case MatchKind::size:
        case MatchKind::elem_match_object:
        case MatchKind::elem_match_value:
            return array_matches_doc(node, doc, details);
        default:
            return leaf_matches_doc(node, doc, details);
    }
}

bool Matcher::element_matches(const MatchNode& elem_match, const Element& element) {
    if (elem_match.kind == MatchKind::elem_match_value)
        return all_match_value(elem_match.children, element);
    return (element.is_object() || element.is_array()) &&
           matches(*elem_match.children[0], element.as_doc());
}

bool Matcher::matches_value(const MatchNode& node, const Element& value) {
    sched::tick();
    switch (node.kind) {
        case MatchKind::conjunction:
            return all_match_value(node.children, value);
        case MatchKind::negation:
            return !matches_value(*node.children[0], value);
        case MatchKind::all:
            return !node.children.empty() && all_match_value(node.children, value);
        default:
            return leaf_matches(node, value);
    }
}

}  // namespace query
