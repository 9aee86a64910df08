#include "query/match/json_schema.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "bson/compare.h"
#include "query/match/json_schema_rules.h"
#include "query/match/regex.h"
#include "query/match/unordered.h"
#include "sched/counted.h"
#include "sched/tick.h"

namespace query {

using bson::Doc;
using bson::Element;
using bson::Type;
using Rules = JsonSchema::Rules;
namespace {

// Schemas inside of schemas.
constexpr int kNestingMax = 100;

template <typename... Args>
[[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) {
    base::fail(base::kFailedToParse, format, std::forward<Args>(args)...);
}
[[noreturn]] void wrong_type(std::string_view keyword, std::string_view wanted) {
    base::fail(base::kTypeMismatch, "$jsonSchema keyword '{}' must be {}", keyword, wanted);
}

RulesPtr parse_rules(Doc schema, int depth);

RulesPtr parse_rules(std::string_view keyword, const Element& schema, int depth) {
    if (!schema.is_object()) wrong_type(keyword, "an object");
    return parse_rules(schema.as_doc(), depth + 1);
}

void add_type(std::string_view keyword, std::string_view name, sched::Vector<Type>& types) {
    if (name == "number") {
        for (const Type type : {Type::number_double, Type::int32, Type::int64, Type::decimal128})
            types.push_back(type);
        return;
    }
    if (keyword == "type") {
        if (name == "integer") bad("$jsonSchema type 'integer' is not currently supported.");
        if (name == "boolean") return types.push_back(Type::boolean);
        static constexpr std::string_view kJsonTypes[] = {"object", "array", "string", "null"};
        if (std::ranges::find(kJsonTypes, name) == std::end(kJsonTypes))
            base::fail(base::kBadValue, "Unknown type name alias: {}", name);
    }
    const std::optional<Type> type = bson::type_of_name(name);
    if (!type) base::fail(base::kBadValue, "Unknown type name alias: {}", name);
    types.push_back(*type);
}

void parse_types(const Element& e, sched::Vector<Type>& types) {
    if (!types.empty()) bad("Cannot specify both $jsonSchema keywords 'bsonType' and 'type'");
    if (e.is_string()) return add_type(e.name(), e.as_string(), types);
    if (!e.is_array()) wrong_type(e.name(), "either a string or an array of strings");
    sched::Vector<std::string_view> names;
    for (const Element& each : sched::ticked(e.as_doc())) {
        if (!each.is_string()) wrong_type(e.name(), "either a string or an array of strings");
        names.push_back(each.as_string());
    }
    if (names.empty()) bad("$jsonSchema keyword '{}' must name at least one type", e.name());
    std::ranges::sort(names);
    if (std::ranges::adjacent_find(names) != names.end())
        bad("$jsonSchema keyword '{}' has duplicate value", e.name());
    for (const std::string_view name : names)
        add_type(e.name(), name, types);
}

// Whether two of them are equal.
sched::Vector<RulesPtr> parse_list(const Element& e, int depth) {
    if (!e.is_array()) wrong_type(e.name(), "an array");
    sched::Vector<RulesPtr> list;
    for (const Element& each : e.as_doc())
        list.push_back(parse_rules(e.name(), each, depth));
    return list;
}

sched::Vector<RulesPtr> parse_choices(const Element& e, int depth) {
    sched::Vector<RulesPtr> list = parse_list(e, depth);
    if (list.empty()) bad("$jsonSchema keyword '{}' must be a non-empty array", e.name());
    return list;
}

const Element& checked_number(const Element& e) {
    if (!e.is_number()) wrong_type(e.name(), "a number");
    return e;
}

int64_t parse_count(const Element& e) {
    const double value = checked_number(e).to_double();
    if (!(value >= 0)) bad("$jsonSchema keyword '{}' must be a non-negative integer", e.name());
    constexpr double kEnd = 9223372036854775808.0;
    if (value >= kEnd || value != std::trunc(value))
        bad("$jsonSchema keyword '{}' must be representable as a long", e.name());
    return e.to_int64();
}

bool parse_flag(const Element& e) {
    if (e.type() != Type::boolean) wrong_type(e.name(), "a boolean");
    return e.as_bool();
}

std::unique_ptr<const Regex> parse_pattern(std::string_view keyword, std::string_view pattern) {
    try {
        return std::make_unique<const Regex>(pattern, "");
    } catch (const base::Error& error) {
        base::fail(keyword == "pattern" ? Regex::kInvalid : base::kFailedToParse,
                   "$jsonSchema keyword '{}': {}", keyword, error.what());
    }
}

sched::Vector<std::string_view> parse_names(const Element& e, std::string_view keyword) {
    if (!e.is_array()) wrong_type(keyword, "an array");
    sched::Vector<std::string_view> names;
    for (const Element& each : sched::ticked(e.as_doc())) {
        if (!each.is_string()) wrong_type(keyword, "an array of strings");
        names.push_back(each.as_string());
    }
    if (names.empty()) bad("$jsonSchema keyword '{}' must be a non-empty array", keyword);
    std::ranges::sort(names);
    if (std::ranges::adjacent_find(names) != names.end())
        bad("$jsonSchema keyword '{}' has duplicate value", keyword);
    return names;
}

void parse_properties(const Element& e, int depth, Rules& into) {
    if (!e.is_object()) wrong_type(e.name(), "an object");
    for (const Element& each : e.as_doc()) {
        if (!each.is_object()) wrong_type(fmt::format("{}.{}", e.name(), each.name()), "an object");
        into.properties.push_back({each.name(), parse_rules(each.as_doc(), depth + 1)});
    }
    std::ranges::stable_sort(into.properties, {}, &NamedRules::name);
}

void parse_pattern_properties(const Element& e, int depth, Rules& into) {
    if (!e.is_object()) wrong_type(e.name(), "an object");
    for (const Element& each : e.as_doc()) {
        if (!each.is_object()) wrong_type(fmt::format("{}.{}", e.name(), each.name()), "an object");
        into.patterns.push_back(
            {parse_pattern(e.name(), each.name()), parse_rules(each.as_doc(), depth + 1)});
    }
}

void parse_dependencies(const Element& e, int depth, Rules& into) {
    if (!e.is_object()) wrong_type(e.name(), "an object");
    for (const Element& each : e.as_doc()) {
        const std::string keyword = fmt::format("{}.{}", e.name(), each.name());
        Dependency dependency{each.name(), {}, nullptr};
        if (each.is_object())
            dependency.rules = parse_rules(each.as_doc(), depth + 1);
        else if (each.is_array())
            dependency.fields = parse_names(each, keyword);
        else
            wrong_type(keyword, "an object or an array");
        into.dependencies.push_back(std::move(dependency));
    }
    std::ranges::stable_sort(into.dependencies, {}, &Dependency::name);
}

// true or false, or what the others have to look like.
RulesPtr parse_others(const Element& e, int depth, bool& taken) {
    if (e.type() == Type::boolean) {
        taken = e.as_bool();
        return nullptr;
    }
    if (!e.is_object()) wrong_type(e.name(), "either an object or a boolean");
    return parse_rules(e.as_doc(), depth + 1);
}

bool is_refused(std::string_view keyword) {
    static constexpr std::string_view kKeywords[] = {
        "$ref", "$schema", "default", "definitions", "format", "id", "encrypt", "encryptMetadata"};
    return std::ranges::find(kKeywords, keyword) != std::end(kKeywords);
}

struct Keyword {
    std::string_view name;
    void (*parse)(const Element& e, int depth, Rules& into);
};

constexpr Keyword kKeywords[] = {
    {"bsonType", [](const Element& e, int, Rules& into) { parse_types(e, into.types); }},
    {"type", [](const Element& e, int, Rules& into) { parse_types(e, into.types); }},
    {"enum",
     [](const Element& e, int, Rules& into) {
         if (!e.is_array()) wrong_type(e.name(), "an array");
         if (e.as_doc().empty()) bad("$jsonSchema keyword 'enum' cannot be an empty array");
         if (has_duplicates(e.as_doc()))
             bad("$jsonSchema keyword 'enum' array cannot contain duplicate values");
         into.choices = e;
     }},
    {"allOf", [](const Element& e, int depth, Rules& into) { into.all = parse_choices(e, depth); }},
    {"anyOf", [](const Element& e, int depth, Rules& into) { into.any = parse_choices(e, depth); }},
    {"oneOf", [](const Element& e, int depth, Rules& into) { into.one = parse_choices(e, depth); }},
    {"not",
     [](const Element& e, int depth, Rules& into) { into.none = parse_rules("not", e, depth); }},
    {"multipleOf",
     [](const Element& e, int, Rules& into) {
         const double value = checked_number(e).to_double();
         if (!(value > 0) || std::isinf(value))
             bad("$jsonSchema keyword 'multipleOf' must have a positive value");
         into.multiple_of = e;
     }},
    {"minimum", [](const Element& e, int, Rules& into) { into.minimum = checked_number(e); }},
    {"maximum", [](const Element& e, int, Rules& into) { into.maximum = checked_number(e); }},
    {"exclusiveMinimum",
     [](const Element& e, int, Rules& into) { into.above_minimum = parse_flag(e); }},
    {"exclusiveMaximum",
     [](const Element& e, int, Rules& into) { into.below_maximum = parse_flag(e); }},
    {"minLength", [](const Element& e, int, Rules& into) { into.length.least = parse_count(e); }},
    {"maxLength", [](const Element& e, int, Rules& into) { into.length.most = parse_count(e); }},
    {"pattern",
     [](const Element& e, int, Rules& into) {
         if (!e.is_string()) wrong_type(e.name(), "a string");
         into.pattern = parse_pattern(e.name(), e.as_string());
     }},
    {"minProperties",
     [](const Element& e, int, Rules& into) { into.fields.least = parse_count(e); }},
    {"maxProperties",
     [](const Element& e, int, Rules& into) { into.fields.most = parse_count(e); }},
    {"required",
     [](const Element& e, int, Rules& into) { into.required = parse_names(e, e.name()); }},
    {"properties", parse_properties},
    {"patternProperties", parse_pattern_properties},
    {"additionalProperties",
     [](const Element& e, int depth, Rules& into) {
         into.more_fields = parse_others(e, depth, into.takes_more_fields);
     }},
    {"dependencies", parse_dependencies},
    {"minItems", [](const Element& e, int, Rules& into) { into.items.least = parse_count(e); }},
    {"maxItems", [](const Element& e, int, Rules& into) { into.items.most = parse_count(e); }},
    {"items",
     [](const Element& e, int depth, Rules& into) {
         if (e.is_array())
             into.first_items = parse_list(e, depth);
         else if (e.is_object())
             into.each_item = parse_rules(e.as_doc(), depth + 1);
         else
             wrong_type(e.name(), "an array or an object");
     }},
    {"additionalItems",
     [](const Element& e, int depth, Rules& into) {
         into.more_items = parse_others(e, depth, into.takes_more_items);
     }},
    {"uniqueItems", [](const Element& e, int, Rules& into) { into.unique = parse_flag(e); }},
    {"title",
     [](const Element& e, int, Rules&) {
         if (!e.is_string()) wrong_type(e.name(), "a string");
     }},
    {"description",
     [](const Element& e, int, Rules&) {
         if (!e.is_string()) wrong_type(e.name(), "a string");
     }},
};

RulesPtr parse_rules(Doc schema, int depth) {
    if (depth > kNestingMax) bad("$jsonSchema is nested more than {} levels deep", kNestingMax);
    auto rules = std::make_unique<Rules>();
    for (const Element& e : sched::ticked(schema)) {
        if (is_refused(e.name()))
            bad("$jsonSchema keyword '{}' is not currently supported", e.name());
        const auto keyword = std::ranges::find(kKeywords, e.name(), &Keyword::name);
        if (keyword == std::end(kKeywords)) bad("Unknown $jsonSchema keyword: {}", e.name());
        if (schema[e.name()].raw() != e.raw()) bad("Duplicate $jsonSchema keyword: {}", e.name());
        keyword->parse(e, depth, *rules);
    }
    for (const auto& [flag, limit] :
         {std::pair{"exclusiveMinimum", "minimum"}, std::pair{"exclusiveMaximum", "maximum"}}) {
        if (schema.has(flag) && !schema.has(limit))
            bad("$jsonSchema keyword '{}' must be a present if {} is present", limit, flag);
    }
    // Without a list of first items there are no others.
    if (rules->first_items.empty() && !schema["items"].is_array()) {
        rules->takes_more_items = true;
        rules->more_items = nullptr;
    }
    return rules;
}

}  // namespace

JsonSchema::JsonSchema(Doc schema) : rules_(parse_rules(schema, 0)) {}
JsonSchema::~JsonSchema() = default;

}  // namespace query
