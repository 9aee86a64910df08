// query/match/json_schema_rules.h - what one (sub)schema asks for: json_schema.cpp reads it,
// json_schema_accepts.cpp looks at documents by it. Views the schema.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "query/match/json_schema.h"
#include "query/match/regex.h"
#include "sched/counted.h"

namespace query {

using RulesPtr = std::unique_ptr<const JsonSchema::Rules>;

// How many there may be.
struct Bounds {
    std::optional<int64_t> least, most;
    bool has(int64_t count) const {
        return (!least || count >= *least) && (!most || count <= *most);
    }
};

struct NamedRules {
    std::string_view name;
    RulesPtr rules;
};
struct PatternRules {
    std::unique_ptr<const Regex> pattern;
    RulesPtr rules;
};
// A document with the field `name` needs either more fields or to fit.
struct Dependency {
    std::string_view name;
    sched::Vector<std::string_view> fields;
    RulesPtr rules;
};

struct JsonSchema::Rules : sched::Counted {
    sched::Vector<bson::Type> types;  // any of them; none: every type
    bson::Element choices;            // enum
    sched::Vector<RulesPtr> all, any, one;
    RulesPtr none;

    bson::Element multiple_of, minimum, maximum;
    bool above_minimum = false, below_maximum = false;

    Bounds length;
    std::unique_ptr<const Regex> pattern;

    Bounds fields;
    sched::Vector<std::string_view> required;
    sched::Vector<NamedRules> properties;  // by name
    sched::Vector<PatternRules> patterns;
    bool takes_more_fields = true;
    RulesPtr more_fields;
    sched::Vector<Dependency> dependencies;  // by name

    Bounds items;
    RulesPtr each_item;
    sched::Vector<RulesPtr> first_items;
    bool takes_more_items = true;
    RulesPtr more_items;
    bool unique = false;
};

bool has_duplicates(bson::Doc array);

}  // namespace query
