// Explains which rules of a schema a document does not keep.
//
// A keyword is asked by itself, as a schema of it and of those that it has its meaning from. Its
// meaning is therefore said in one place, json_schema.cpp.
#include <algorithm>
#include <string>

#include "bson/type_names.h"
#include "query/match/failure.h"
#include "query/match/json_schema.h"
#include "query/match/regex.h"
#include "query/match/unordered.h"
#include "sched/tick.h"

namespace query {

using bson::Builder;
using bson::Doc;
using bson::Element;

namespace {

// The cost of reading a regular expression.
constexpr int64_t kTicksPerRegex = 16;

void explain(Doc schema, const Element& value, Builder& rules);

bson::Object in_document(std::string_view name, const Element& value) {
    Builder doc;
    doc.append_as(name, value);
    return doc.object();
}

// Returns the named fields of a schema.
bson::Object only(Doc schema, std::initializer_list<std::string_view> names) {
    Builder out;
    for (const Element& e : schema)
        if (std::ranges::find(names, e.name()) != names.end()) out.append(e);
    return out.object();
}

bool accepts(Doc schema, const Element& value) {
    sched::tick_bytes(schema.size() + static_cast<int32_t>(value.size()), sched::PerTick::walked);
    const bson::Object property = bson::make("properties", bson::make("", schema));
    return JsonSchema(property).accepts(in_document("", value));
}

bool is_full(Builder& out) {
    return out.buffer().size() > kFailureBytesMax;
}

// The rule that is not kept; it says more behind this.
Builder begin_rule(Builder& rules, std::string_view keyword) {
    Builder rule = rules.sub_object(rules.next().view());
    rule.append("operatorName", keyword);
    return rule;
}

void append_schema(Builder& rule, Doc schema) {
    if (static_cast<size_t>(schema.size()) <= kFailureBytesMax / 8)
        rule.append("specifiedAs", schema);
}
void append_value(Builder& rule, const Element& value) {
    if (value.size() <= kFailureBytesMax / 8) rule.append_as("consideredValue", value);
}
void append_details(Builder& out, Doc schema, const Element& value) {
    Builder details = out.sub_array("details");
    explain(schema, value, details);
}

// Keywords that say something of a value as a whole.
struct Plain {
    std::string_view keyword, with;  // `with` changes what it means
    std::string_view reason;
};
constexpr std::string_view kCompared = "comparison failed";
constexpr std::string_view kLength = "specified string length was not satisfied";
constexpr std::string_view kItems = "array did not match specified length";
constexpr Plain kScalars[] = {
    {"maximum", "exclusiveMaximum", kCompared},
    {"minimum", "exclusiveMinimum", kCompared},
    {"maxLength", "", kLength},
    {"minLength", "", kLength},
    {"pattern", "", "regular expression did not match"},
    {"multipleOf", "", "considered value is not a multiple of the specified value"},
    {"maxItems", "", kItems},
    {"minItems", "", kItems},
};
constexpr Plain kChoices[] = {
    {"enum", "", "value was not found in enum"},
    {"type", "", "type did not match"},
    {"bsonType", "", "type did not match"},
};

void explain_plain(Doc schema, const Plain& plain, const Element& value, Builder& rules) {
    if (is_full(rules) || !schema.has(plain.keyword)) return;
    const bson::Object specified = only(schema, {plain.keyword, plain.with});
    if (accepts(specified, value)) return;
    Builder rule = begin_rule(rules, plain.keyword);
    append_schema(rule, specified);
    rule.append("reason", plain.reason);
    append_value(rule, value);
    if (plain.keyword.ends_with("ype")) rule.append("consideredType", bson::name_of(value.type()));
}

void explain_unique(Doc schema, const Element& array, Builder& rules) {
    const bson::Object specified = only(schema, {"uniqueItems"});
    if (specified.empty() || accepts(specified, array)) return;
    Builder rule = begin_rule(rules, "uniqueItems");
    append_schema(rule, specified);
    rule.append("reason", "found a duplicate item");
    append_value(rule, array);
    sched::Vector<Element> items;
    for (const Element& item : array.as_doc())
        items.push_back(item);
    std::ranges::stable_sort(items, sched::ticking([](const Element& a, const Element& b) {
                                 return compare_unordered(a, b) < 0;
                             }));
    const auto twice = std::ranges::adjacent_find(
        items, [](const Element& a, const Element& b) { return compare_unordered(a, b) == 0; });
    if (twice != items.end() && !is_full(rules)) rule.append_as("duplicatedValue", *twice);
}

void append_item(Builder& rules, std::string_view keyword, std::string_view reason, int32_t index,
                 Doc schema, const Element& item) {
    Builder rule = begin_rule(rules, keyword);
    rule.append("reason", reason).append("itemIndex", index);
    append_details(rule, schema, item);
}

// The first item that is not as it has to be.
void explain_items(Doc schema, const Element& array, Builder& rules) {
    const Element items = schema["items"];
    const Element more = schema["additionalItems"];
    const Doc first = items.is_array() ? items.as_doc() : Doc();
    auto rule_of = first.begin();
    int32_t index = 0;
    for (const Element& item : array.as_doc()) {
        const int32_t at = index++;
        if (items.is_object()) {
            if (accepts(items.as_doc(), item)) continue;
            return append_item(rules, "items", "At least one item did not match the sub-schema", at,
                               items.as_doc(), item);
        }
        if (!items.is_array()) return;
        if (rule_of != first.end()) {
            const Doc wanted = (*rule_of).as_doc();
            ++rule_of;
            if (accepts(wanted, item)) continue;
            return append_item(rules, "items", "item did not match the sub-schema", at, wanted,
                               item);
        }
        if (more.is_object()) {
            if (accepts(more.as_doc(), item)) continue;
            return append_item(rules, "additionalItems",
                               "At least one additional item did not match the sub-schema", at,
                               more.as_doc(), item);
        }
        if (more.missing() || more.as_bool()) return;
        Builder rule = begin_rule(rules, "additionalItems");
        append_schema(rule, only(schema, {"additionalItems"}));
        rule.append("reason", "found additional items");
        return;
    }
}

// A property that is not as a schema wants it, with what the schema says of itself.
void append_property(Builder& list, Doc schema, const Element& field) {
    Builder property = list.sub_object(list.next().view());
    property.append("propertyName", field.name());
    property.append(schema["title"]).append(schema["description"]);
    append_details(property, schema, field);
}

void explain_properties(Doc schema, Doc doc, Builder& rules) {
    const Element properties = schema["properties"];
    if (!properties.is_object()) return;
    Builder failing;
    for (const Element& property : properties.as_doc()) {
        sched::tick_bytes(doc.size(), sched::PerTick::walked);
        const Element field = doc[property.name()];
        if (is_full(failing)) break;
        if (field && !accepts(property.as_doc(), field))
            append_property(failing, property.as_doc(), field);
    }
    if (failing.doc().empty()) return;
    Builder rule = begin_rule(rules, "properties");
    rule.append_array("propertiesNotSatisfied", failing.doc());
}

// Calls use(pattern, schema) for each of patternProperties that is about a field.
template <typename Use>
bool each_pattern(Doc schema, const Element& field, const Use& use) {
    bool any = false;
    const Element patterns = schema["patternProperties"];
    if (!patterns.is_object()) return any;
    for (const Element& pattern : sched::ticked(patterns.as_doc(), kTicksPerRegex)) {
        if (!Regex(pattern.name(), "").search(field.name())) continue;
        any = true;
        use(pattern);
    }
    return any;
}

void explain_patterns(Doc schema, Doc doc, Builder& rules) {
    Builder failing;
    for (const Element& field : doc) {
        if (is_full(failing)) break;
        each_pattern(schema, field, [&](const Element& pattern) {
            if (accepts(pattern.as_doc(), field)) return;
            Builder entry = failing.sub_object(failing.next().view());
            entry.append("propertyName", field.name()).append("regexMatched", pattern.name());
            append_details(entry, pattern.as_doc(), field);
        });
    }
    if (failing.doc().empty()) return;
    Builder rule = begin_rule(rules, "patternProperties");
    rule.append_array("details", failing.doc());
}

bool is_additional(Doc schema, const Element& field) {
    const Element properties = schema["properties"];
    sched::tick_bytes(properties ? properties.size() : 0, sched::PerTick::walked);
    if (properties.is_object() && properties.as_doc().has(field.name())) return false;
    return !each_pattern(schema, field, [](const Element&) {});
}

void explain_additional(Doc schema, Doc doc, Builder& rules) {
    const Element more = schema["additionalProperties"];
    if (more.missing() || (!more.is_object() && more.as_bool())) return;
    Builder names;
    for (const Element& field : doc) {
        if (is_full(names)) break;
        if (!is_additional(schema, field)) continue;
        if (!more.is_object()) {
            names.push(field.name());
        } else if (!accepts(more.as_doc(), field)) {
            Builder rule = begin_rule(rules, "additionalProperties");
            rule.append("reason", "at least one additional property did not match the subschema")
                .append("failingProperty", field.name());
            return append_details(rule, more.as_doc(), field);
        }
    }
    if (names.doc().empty()) return;
    Builder rule = begin_rule(rules, "additionalProperties");
    append_schema(rule, only(schema, {"additionalProperties"}));
    rule.append_array("additionalProperties", names.doc());
}

bson::Object missing_of(const Element& names, Doc doc) {
    Builder missing;
    for (const Element& name : names.as_doc()) {
        sched::tick_bytes(doc.size(), sched::PerTick::walked);
        if (!doc.has(name.as_string())) missing.push(name.as_string());
    }
    return missing.object();
}

void explain_required(Doc schema, Doc doc, Builder& rules) {
    const Element required = schema["required"];
    if (required.missing()) return;
    const bson::Object missing = missing_of(required, doc);
    if (missing.empty()) return;
    Builder rule = begin_rule(rules, "required");
    append_schema(rule, only(schema, {"required"}));
    if (!is_full(rules)) rule.append_array("missingProperties", missing);
}

void explain_count(Doc schema, std::string_view keyword, Doc doc, Builder& rules) {
    const bson::Object specified = only(schema, {keyword});
    if (specified.empty() || JsonSchema(specified).accepts(doc)) return;
    Builder rule = begin_rule(rules, keyword);
    append_schema(rule, specified);
    rule.append("reason", "specified number of properties was not satisfied")
        .append("numberOfProperties", static_cast<int32_t>(doc.field_count()));
}

void explain_dependencies(Doc schema, Doc doc, Builder& rules) {
    const Element dependencies = schema["dependencies"];
    if (!dependencies.is_object()) return;
    Builder failing;
    for (const Element& each : dependencies.as_doc()) {
        sched::tick_bytes(doc.size(), sched::PerTick::walked);
        if (is_full(failing)) break;
        if (!doc.has(each.name())) continue;
        if (each.is_array()) {
            const bson::Object missing = missing_of(each, doc);
            if (missing.empty()) continue;
            Builder entry = failing.sub_object(failing.next().view());
            entry.append("conditionalProperty", each.name())
                .append_array("missingProperties", missing);
        } else if (!JsonSchema(each.as_doc()).accepts(doc)) {
            Builder entry = failing.sub_object(failing.next().view());
            entry.append("conditionalProperty", each.name());
            Builder details = entry.sub_array("details");
            explain_schema(each.as_doc(), doc, details);
        }
    }
    if (failing.doc().empty()) return;
    Builder rule = begin_rule(rules, "dependencies");
    rule.append_array("failingDependencies", failing.doc());
}

// allOf, anyOf, oneOf.
void explain_choice(Doc schema, std::string_view keyword, const Element& value, Builder& rules) {
    const bson::Object specified = only(schema, {keyword});
    if (specified.empty() || is_full(rules) || accepts(specified, value)) return;
    Builder rule = begin_rule(rules, keyword);
    Builder matching;
    Builder failing;
    int32_t index = 0;
    for (const Element& each : specified.doc().first().as_doc()) {
        const int32_t at = index++;
        if (is_full(failing)) break;
        if (accepts(each.as_doc(), value)) {
            matching.push(at);
            continue;
        }
        Builder entry = failing.sub_object(failing.next().view());
        entry.append("index", at);
        append_details(entry, each.as_doc(), value);
    }
    if (keyword == "oneOf" && !matching.doc().empty()) {
        rule.append("reason", "more than one subschema matched")
            .append_array("matchingSchemaIndexes", matching.doc());
    } else {
        rule.append_array("schemasNotSatisfied", failing.doc());
    }
}

void explain_not(Doc schema, const Element& value, Builder& rules) {
    const bson::Object specified = only(schema, {"not"});
    if (specified.empty() || accepts(specified, value)) return;
    Builder rule = begin_rule(rules, "not");
    append_schema(rule, specified);
    rule.append("reason", "child expression matched");
    append_value(rule, value);
}

void explain_object(Doc schema, Doc doc, Builder& rules) {
    explain_properties(schema, doc, rules);
    explain_patterns(schema, doc, rules);
    explain_additional(schema, doc, rules);
    explain_required(schema, doc, rules);
    explain_count(schema, "minProperties", doc, rules);
    explain_count(schema, "maxProperties", doc, rules);
    explain_dependencies(schema, doc, rules);
}

void explain(Doc schema, const Element& value, Builder& rules) {
    sched::tick();
    for (const Plain& plain : kScalars)
        explain_plain(schema, plain, value, rules);
    if (value.is_array()) {
        explain_unique(schema, value, rules);
        explain_items(schema, value, rules);
    }
    if (value.is_object()) explain_object(schema, value.as_doc(), rules);
    for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"})
        explain_choice(schema, keyword, value, rules);
    explain_not(schema, value, rules);
    for (const Plain& plain : kChoices)
        explain_plain(schema, plain, value, rules);
}

}  // namespace

void explain_schema(Doc schema, Doc doc, Builder& rules) {
    const bson::Object whole = bson::make("", doc);
    explain(schema, whole.doc().first(), rules);
}

}  // namespace query
