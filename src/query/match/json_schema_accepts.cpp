// Whether a document is as a schema wants it.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "bson/compare.h"
#include "bson/decimal_number.h"
#include "query/match/json_schema_rules.h"
#include "query/match/unordered.h"
#include "sched/tick.h"

namespace query {

using bson::Doc;
using bson::Element;
using bson::Type;
using Rules = JsonSchema::Rules;

bool has_duplicates(Doc array) {
    sched::Vector<Element> values;
    for (const Element& each : array)
        values.push_back(each);
    std::ranges::stable_sort(
        values, [](const Element& a, const Element& b) { return compare_unordered(a, b) < 0; });
    return std::ranges::adjacent_find(values, [](const Element& a, const Element& b) {
               return compare_unordered(a, b) == 0;
           }) != values.end();
}

namespace {

// The value that a schema looks at: an element, or a document that is in none.
struct Value {
    Value(const Element& value) : element(value), type(value.type()) {}  // NOLINT: one of the two
    explicit Value(Doc whole) : doc(whole), type(Type::object) {}

    Doc fields() const { return element ? element.as_doc() : doc; }

    Element element;
    Doc doc;
    Type type;
};

bool accepts(const Rules& rules, const Value& value);

int64_t code_points(std::string_view text) {
    int64_t count = 0;
    for (; !text.empty(); ++count) {
        sched::tick(count % 64 == 0 ? 1 : 0);
        unsigned point = 0;
        const size_t bytes = base::utf8_character(text, &point);
        text.remove_prefix(std::max<size_t>(1, bytes));
    }
    return count;
}

bool accepts_string(const Rules& rules, std::string_view text) {
    if ((rules.length.least || rules.length.most) && !rules.length.has(code_points(text)))
        return false;
    return rules.pattern == nullptr || rules.pattern->search(text);
}

bool is_multiple(const Element& value, const Element& of) {
    using bson::DecimalNumber;
    if (value.type() == Type::decimal128 || of.type() == Type::decimal128)
        return DecimalNumber::of(value).remainder(DecimalNumber::of(of)).is_zero();
    const bool whole = value.type() != Type::number_double && of.type() != Type::number_double;
    if (whole) return value.to_int64() % of.to_int64() == 0;  // it is above 0
    return std::fmod(value.to_double(), of.to_double()) == 0;
}

bool accepts_number(const Rules& rules, const Element& value) {
    if (rules.minimum) {
        const int c = bson::compare_values(value, rules.minimum);
        if (c < 0 || (c == 0 && rules.above_minimum)) return false;
    }
    if (rules.maximum) {
        const int c = bson::compare_values(value, rules.maximum);
        if (c > 0 || (c == 0 && rules.below_maximum)) return false;
    }
    return !rules.multiple_of || is_multiple(value, rules.multiple_of);
}

bool accepts_array(const Rules& rules, Doc array) {
    int64_t count = 0;
    for (const Element& item : array) {
        const auto place = static_cast<size_t>(count++);
        if (rules.each_item != nullptr && !accepts(*rules.each_item, item)) return false;
        if (place < rules.first_items.size()) {
            if (!accepts(*rules.first_items[place], item)) return false;
        } else if (!rules.takes_more_items ||
                   (rules.more_items != nullptr && !accepts(*rules.more_items, item))) {
            return false;
        }
    }
    return rules.items.has(count) && !(rules.unique && has_duplicates(array));
}

bool accepts_field(const Rules& rules, const Element& field) {
    bool is_named = false;
    for (auto [named, end] =
             std::ranges::equal_range(rules.properties, field.name(), {}, &NamedRules::name);
         named != end; ++named) {
        is_named = true;
        if (!accepts(*named->rules, field)) return false;
    }
    for (const PatternRules& pattern : rules.patterns) {
        if (!pattern.pattern->search(field.name())) continue;
        is_named = true;
        if (!accepts(*pattern.rules, field)) return false;
    }
    if (is_named) return true;
    return rules.takes_more_fields &&
           (rules.more_fields == nullptr || accepts(*rules.more_fields, field));
}

// `names` are sorted, each once. One walk over the document, however many they are.
bool has_all(const sched::Vector<std::string_view>& names, Doc doc) {
    if (names.empty()) return true;
    sched::Vector<bool> found(names.size());
    size_t missing = names.size();
    for (const Element& field : sched::ticked(doc)) {
        const auto at = std::ranges::lower_bound(names, field.name());
        if (at == names.end() || *at != field.name()) continue;
        auto is_found = found[static_cast<size_t>(at - names.begin())];
        if (is_found) continue;
        is_found = true;
        if (--missing == 0) return true;
    }
    return false;
}

bool accepts_dependencies(const Rules& rules, const Element& field, Doc doc) {
    const auto of_field =
        std::ranges::equal_range(rules.dependencies, field.name(), {}, &Dependency::name);
    return std::ranges::all_of(of_field, [&doc](const Dependency& dependency) {
        return dependency.rules != nullptr ? accepts(*dependency.rules, Value(doc))
                                           : has_all(dependency.fields, doc);
    });
}

bool accepts_object(const Rules& rules, Doc doc) {
    int64_t count = 0;
    for (const Element& field : sched::ticked(doc)) {
        ++count;
        if (!accepts_field(rules, field) || !accepts_dependencies(rules, field, doc)) return false;
    }
    return rules.fields.has(count) && has_all(rules.required, doc);
}

bool is_choice(Doc choices, const Value& value) {
    for (const Element& choice : sched::ticked(choices)) {
        const int c =
            value.element
                ? compare_unordered(value.element, choice)
                : (choice.is_object() ? compare_unordered(value.doc, choice.as_doc()) : 1);
        if (c == 0) return true;
    }
    return false;
}

bool accepts_by_type(const Rules& rules, const Value& value) {
    switch (value.type) {
        case Type::object:
            return accepts_object(rules, value.fields());
        case Type::array:
            return accepts_array(rules, value.fields());
        case Type::string:
            return accepts_string(rules, value.element.as_string());
        default:
            return !value.element.is_number() || accepts_number(rules, value.element);
    }
}

bool accepts(const Rules& rules, const Value& value) {
    sched::tick();
    const auto holds = [&value](const RulesPtr& each) { return accepts(*each, value); };
    if (!rules.types.empty() && std::ranges::find(rules.types, value.type) == rules.types.end())
        return false;
    if (rules.choices && !is_choice(rules.choices.as_doc(), value)) return false;
    if (!std::ranges::all_of(rules.all, holds)) return false;
    if (!rules.any.empty() && std::ranges::none_of(rules.any, holds)) return false;
    if (!rules.one.empty() && std::ranges::count_if(rules.one, holds) != 1) return false;
    if (rules.none != nullptr && holds(rules.none)) return false;
    return accepts_by_type(rules, value);
}

}  // namespace

bool JsonSchema::accepts(Doc doc) const {
    return query::accepts(*rules_, Value(doc));
}

}  // namespace query
