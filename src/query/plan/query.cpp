#include "query/plan/query.h"

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/match/times.h"
#include "query/plan/sort.h"
#include "sched/tick.h"

namespace query {

bool same_names(bson::Doc a, bson::Doc b) {
    auto other = b.begin();
    for (const bson::Element& e : a) {
        if (other == b.end() || other->name() != e.name()) return false;
        ++other;
    }
    return other == b.end();
}

void append_with_score(bson::Doc doc, double score, bson::Buffer& out) {
    bson::Builder b(out);
    b.append_all(doc).append(kScoreField, score);
}

int64_t FindQuery::sorted_rows() const {
    DCHECK(skip >= 0 && limit >= 0 && top >= 0);
    const int64_t wanted = limit != 0 ? limit : top;
    return wanted == 0 ? 0 : wanted + std::min(skip, INT64_MAX - wanted);
}

namespace {

// {$meta: what}
bool is_meta(const bson::Element& e, std::string_view what) {
    if (!e.is_object() || e.as_doc().field_count() != 1) return false;
    const bson::Element meta = e.as_doc().first();
    return meta.name() == "$meta" && meta.is_string() && meta.as_string() == what;
}
bool is_score(const bson::Element& e) {
    return is_meta(e, "textScore");
}

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
    matcher = Matcher::parse_query(parts.filter, parts.expressions, collator, parts.where);
    if (!parts.projection.empty())
        projection =
            Projection::parse(parts.projection, matcher.get(), parts.expressions, collator);
    if (parts.expressions != nullptr) {
        check_natural(parts.sort, "sort");
        if (parts.hint.is_object()) check_natural(parts.hint.as_doc(), "hint");
    }
    set_sort(parts);
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
    if (matcher->text() != nullptr) check_text();
    DCHECK(matcher != nullptr && sort.empty() == (sort_pattern == nullptr));
}

void FindQuery::set_sort(const Parts& parts) {
    if (parts.sort.empty()) return;
    if (const bson::Element order = parts.sort["$natural"]) {
        SortPattern checked(parts.sort);
        natural = order.to_double() < 0 ? -1 : 1;
        return;
    }
    const dialect::Dialect dialect = dialect_of(*matcher);
    check_scores(parts);
    bson::Object by_scores;
    bson::Doc by = parts.sort;
    for (const bson::Element& e : parts.sort)
        sorts_by_score = sorts_by_score || is_score(e);
    if (sorts_by_score) {
        bson::Builder b;
        for (const bson::Element& e : sched::ticked(parts.sort)) {
            if (is_score(e))
                b.append(kScoreField, -1);
            else
                b.append(e);
        }
        by_scores = b.object();
        by = by_scores;
    }
    sort_pattern = std::make_shared<const SortPattern>(
        by, dialect.has(dialect::kSortIgnoresFilter) ? nullptr : matcher.get(), collator, dialect);
    for (const bson::Element& e : parts.sort)
        if (e.name().empty()) base::fail(base::kBadValue, "bad sort specification: no name");
    sort = bson::Object(sort_pattern->spec());
}

// The old server sorted by what it showed: a field that is a score in one is so in both.
void FindQuery::check_scores(const Parts& parts) const {
    if (parts.expressions != nullptr) return;
    for (const bson::Element& e : sched::ticked(parts.sort))
        if (is_score(e) != is_score(parts.projection[e.name()]))
            base::fail(base::kBadValue,
                       "sort and projection must both have {{$meta: \"textScore\"}} for '{}', or "
                       "neither",
                       e.name());
}

void FindQuery::check_text() const {
    if (natural != 0 || !hint.empty() || !hint_name.empty())
        base::fail(base::kBadValue, "$text takes neither a hint nor $natural");
    if (!min.empty() || !max.empty()) base::fail(base::kBadValue, "$text takes no min and max");
    if (matcher->near() != nullptr) base::fail(base::kBadValue, "$text takes no $near beside it");
}

void FindQuery::drop_sort() {
    sort = bson::Object();
    sort_pattern.reset();
}

}  // namespace query
