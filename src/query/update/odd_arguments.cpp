#include "query/update/odd_arguments.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "query/match/match_tree.h"
#include "query/match/regex_flags.h"
#include "query/update/update_modifier.h"

namespace query {

namespace {

using bson::Element;

// Throws base::Error 51108 (query/match/regex_flags.h).
void refuse_odd_flags_of_pull(const Element& condition) {
    const bool of_values = pulls_values(condition);
    if (!of_values && !condition.is_object()) return;
    bson::Builder wrapped;
    if (of_values) wrapped.append(condition);
    refuse_odd_flags(
        *Matcher::parse(of_values ? wrapped.doc() : condition.as_doc(), &kNoExpressionsHere));
}

// Clauses of $push mean nothing here, and were ignored.
void check_add_to_set(const Element& argument) {
    if (!argument.is_object()) return;
    const bson::Doc clauses = argument.as_doc();
    const Element each = clauses.first();
    if (each.name() != "$each") return;
    if (clauses.field_count() > 1)
        base::fail(base::kBadValue, "Found unexpected fields after $each in $addToSet: {}",
                   bson::to_text(argument));
    if (!each.is_array())
        base::fail(base::kTypeMismatch, "$each requires an array value in $addToSet: {}",
                   bson::to_text(argument));
}

}  // namespace

void refuse_odd_argument(std::string_view modifier, const Element& argument) {
    if (modifier == "$pull") refuse_odd_flags_of_pull(argument);
    if (modifier == "$addToSet") check_add_to_set(argument);
    if (modifier == "$bit" && argument.is_object() && argument.as_doc().empty())
        base::fail(base::kBadValue, "$bit needs at least one of 'and', 'or' and 'xor' for '{}'",
                   argument.name());
    if (modifier == "$pop" &&
        (!argument.is_number() || (argument.to_double() != 1 && argument.to_double() != -1)))
        base::fail(base::kFailedToParse, "$pop expects 1 or -1, found: {}",
                   bson::to_text(argument));
}

}  // namespace query
