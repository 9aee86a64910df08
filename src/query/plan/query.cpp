#include "query/plan/query.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/match/times.h"
#include "query/plan/sort.h"

namespace query {

bool same_names(bson::Doc a, bson::Doc b) {
    auto other = b.begin();
    for (const bson::Element& e : a) {
        if (other == b.end() || other->name() != e.name()) return false;
        ++other;
    }
    return other == b.end();
}

int64_t FindQuery::sorted_rows() const {
    DCHECK(skip >= 0 && limit >= 0 && top >= 0);
    const int64_t wanted = limit != 0 ? limit : top;
    return wanted == 0 ? 0 : wanted + std::min(skip, INT64_MAX - wanted);
}

namespace {

// The old server took any number, and other fields beside it, which meant nothing.
void check_natural(bson::Doc order, std::string_view where) {
    const bson::Element direction = order["$natural"];
    if (direction.missing()) return;
    if (order.field_count() > 1)
        base::fail(base::kBadValue, "Cannot include '$natural' in compound {}: {}", where,
                   bson::to_text(order));
    const double given = direction.is_number() ? direction.to_double() : 0;
    if (given != 1 && given != -1)
        base::fail(base::kBadValue, "$natural {} cannot be set to a value other than -1 or 1.",
                   where);
}

}  // namespace

void FindQuery::canonicalise(const Parts& parts) {
    matcher = Matcher::parse(parts.filter, parts.expressions, collator, parts.where);
    if (!parts.projection.empty())
        projection =
            Projection::parse(parts.projection, matcher.get(), parts.expressions, collator);
    if (parts.expressions != nullptr) {
        check_natural(parts.sort, "sort");
        if (parts.hint.is_object()) check_natural(parts.hint.as_doc(), "hint");
    }
    if (const bson::Element order = parts.sort["$natural"]) {
        SortPattern checked(parts.sort);
        natural = order.to_double() < 0 ? -1 : 1;
    } else if (!parts.sort.empty()) {
        const dialect::Dialect dialect = dialect_of(*matcher);
        sort_pattern = std::make_shared<const SortPattern>(
            parts.sort, dialect.has(dialect::kSortIgnoresFilter) ? nullptr : matcher.get(),
            collator, dialect);
        for (const bson::Element& e : parts.sort)
            if (e.name().empty()) base::fail(base::kBadValue, "bad sort specification: no name");
        sort = bson::Object(sort_pattern->spec());
    }
    if (parts.hint.is_string()) {
        hint_name = parts.hint.as_string();
    } else if (parts.hint.is_object()) {
        const bson::Doc pattern = parts.hint.as_doc();
        if (const bson::Element order = pattern["$natural"]) {
            natural = order.to_double() < 0 ? -1 : 1;
            natural_by_hint = true;
        } else {
            hint = bson::Object(pattern);
        }
    } else if (parts.hint && parts.hint.type() != bson::Type::null) {
        base::fail(base::kBadValue, "hint must be an index name or a key pattern");
    }
    if (!min.empty() && !max.empty() && !same_names(min, max))
        base::fail(base::kBadValue, "min and max must have the same field names");
    if (snapshot && !parts.sort.empty())
        base::fail(base::kBadValue, "E12001 can't sort with $snapshot");
    if (snapshot && (natural_by_hint || !hint.empty() || !hint_name.empty()))
        base::fail(base::kBadValue, "E12002 can't use hint with $snapshot");
    DCHECK(matcher != nullptr && sort.empty() == (sort_pattern == nullptr));
}

void FindQuery::drop_sort() {
    sort = bson::Object();
    sort_pattern.reset();
}

}  // namespace query
