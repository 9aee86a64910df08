#include "query/match/text_clause.h"

#include "base/error.h"
#include "dialect/filters.h"
#include "sched/tick.h"

namespace query {

TextClause::TextClause(const bson::Element& operand, dialect::Dialect dialect) {
    const bool of_today = dialect.has(dialect::kTextTakesLetters);
    if (!operand.is_object()) base::fail(base::kBadValue, "$text needs an Object");
    bool has_search = false;
    for (const bson::Element& e : operand.as_doc()) {
        const bool is_flag = e.name() == "$caseSensitive" || e.name() == "$diacriticSensitive";
        if (e.name() == "$search" || e.name() == "$language") {
            if (!e.is_string())
                base::fail(dialect.code(base::kBadValue, base::kTypeMismatch),
                           "$text needs a string for {}", e.name());
            (e.name() == "$search" ? request_.search : request_.language) = e.as_string();
            has_search = has_search || e.name() == "$search";
        } else if (is_flag && of_today) {
            if (e.type() != bson::Type::boolean)
                base::fail(base::kTypeMismatch, "$text needs a boolean for {}", e.name());
            (e.name() == "$caseSensitive" ? request_.folding.case_sensitive
                                          : request_.folding.diacritic_sensitive) = e.as_bool();
        } else {
            base::fail(base::kBadValue, "$text has no field {}", e.name());
        }
    }
    if (!has_search) base::fail(base::kBadValue, "$text needs $search");
    if (!operand.as_doc().has("$language")) return;
    const auto language = text::language_name(request_.language, text::Version::v2);
    if (!language) base::fail(base::kBadValue, "$text has no language '{}'", request_.language);
    request_.language = *language;
}

bool asks_for_text(bson::Doc filter) {
    for (const bson::Element& e : sched::ticked(filter)) {
        if (e.name() == "$text") return true;
        if (!e.is_array() || (e.name() != "$and" && e.name() != "$or")) continue;
        for (const bson::Element& clause : sched::ticked(e.as_doc()))
            if (clause.is_object() && asks_for_text(clause.as_doc())) return true;
    }
    return false;
}

}  // namespace query
