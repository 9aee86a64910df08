#include "query/update/modifier_table.h"

#include <algorithm>

#include "base/error.h"
#include "bson/field_path.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/updates.h"
#include "sched/tick.h"

namespace query {

using bson::Element;

namespace {

template <std::unique_ptr<Modifier> (*Make)(const Element&)>
std::unique_ptr<Modifier> of_operand(const Element& operand, const Update::Options&) {
    return Make(operand);
}

template <std::unique_ptr<Modifier> (*Make)(const Element&, bool)>
std::unique_ptr<Modifier> calculating(const Element& operand, const Update::Options& options) {
    return Make(operand, options.dialect.has(dialect::kDecimalsAreNumbers));
}

ValueOrder order_of(const Update::Options& options) {
    return {options.collator.get(), options.dialect};
}

template <std::unique_ptr<Modifier> (*Make)(const Element&, const ValueOrder&)>
std::unique_ptr<Modifier> comparing(const Element& operand, const Update::Options& options) {
    return Make(operand, order_of(options));
}

// An `_id` that is equal stays as it is.
bool is_of_id(std::string_view path) {
    return path.starts_with("_id") && (path.size() == 3 || path[3] == '.');
}

struct NamedMaker {
    std::string_view name;
    ModifierMaker make;
};

// The most frequent first.
constexpr NamedMaker kMakers[] = {
    {"$set",
     [](const Element& operand, const Update::Options& options) {
         return make_set(
             operand, !options.dialect.has(dialect::kSetChangesType) || is_of_id(operand.name()));
     }},
    {"$setOnInsert",
     [](const Element& operand, const Update::Options&) { return make_set(operand); }},
    {"$unset", [](const Element&, const Update::Options&) { return make_unset(); }},
    {"$inc", calculating<make_inc>},
    {"$mul", calculating<make_mul>},
    {"$min", comparing<make_min>},
    {"$max", comparing<make_max>},
    {"$bit", of_operand<make_bit>},
    {"$currentDate", of_operand<make_current_date>},
    {"$push",
     [](const Element& operand, const Update::Options& options) {
         return make_push(operand, order_of(options), options.dialect);
     }},
    {"$pushAll", of_operand<make_push_all>},
    {"$addToSet",
     [](const Element& operand, const Update::Options& options) {
         return make_add_to_set(operand, names_in_documents(options.dialect), order_of(options));
     }},
    {"$pop",
     [](const Element& operand, const Update::Options& options) {
         return make_pop(operand, options.dialect.code(base::kBadValue, base::kTypeMismatch));
     }},
    {"$pull",
     [](const Element& operand, const Update::Options& options) {
         return make_pull(
             operand,
             options.dialect.has(dialect::kExpressionsInFilters) ? &kNoExpressionsHere : nullptr,
             options.collator);
     }},
    {"$pullAll", comparing<make_pull_all>},
};

}  // namespace

ModifierMaker maker_of(std::string_view name) {
    const auto found = std::ranges::find(kMakers, name, &NamedMaker::name);
    return found == std::end(kMakers) ? nullptr : found->make;
}

void parse_path(std::string_view text, ArrayFilters* filters, Mod& mod) {
    sched::tick();
    bson::check_path_parts(text);
    if (text.empty()) {
        base::fail(base::kEmptyFieldName, "An empty update path is not valid.");
    }
    // The target of $rename is a string, and may hold what no name can.
    if (text.find('\0') != std::string_view::npos) {
        base::fail(base::kBadValue, "An update path must not contain a NUL byte.");
    }
    for (size_t at = 0; at <= text.size();) {
        const size_t dot = std::min(text.find('.', at), text.size());
        const std::string_view part = text.substr(at, dot - at);
        if (part.empty()) {
            base::fail(base::kEmptyFieldName,
                       "The update path '{}' contains an empty field name, "
                       "which is not allowed.",
                       text);
        }
        if (part == "$" && mod.path.empty() && filters != nullptr) {
            base::fail(base::kBadValue,
                       "Cannot have positional (i.e. '$') element in the first position in path "
                       "'{}'",
                       text);
        }
        if (part == "$" && !mod.path.empty()) {
            if (mod.positional >= 0) {
                base::fail(base::kBadValue,
                           "Too many positional (i.e. '$') elements found in path "
                           "'{}'",
                           text);
            }
            mod.positional = static_cast<int>(mod.path.size());
        }
        const int filter = filters == nullptr ? ArrayFilters::kNone : filters->named_by(part, text);
        if (filter != ArrayFilters::kNone) {
            if (mod.path.empty())
                base::fail(base::kBadValue,
                           "Cannot have array filter identifier (i.e. '$[<id>]') element in the "
                           "first position in path '{}'",
                           text);
            mod.arrays.emplace_back(mod.path.size(), filter);
        } else if (part[0] == '$' && mod.odd_part < 0 &&
                   mod.positional != static_cast<int>(mod.path.size()) &&
                   (filters != nullptr || dot == text.size())) {
            mod.odd_part = static_cast<int>(mod.path.size());
        }
        mod.charge.add(sizeof(std::string) + part.size());
        mod.path.emplace_back(part);
        at = dot + 1;
    }
}

}  // namespace query
