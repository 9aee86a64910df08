#include "command/commands/projection_of_today.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/builder.h"
#include "query/match/regex_flags.h"
#include "query/match/text_clause.h"
#include "sched/tick.h"
#include "storage/index_limits.h"

namespace command {

namespace {

struct ProjectedPath {
    std::string_view text;
    size_t at = 0;  // in the specification
};

// Each path may be there once, and none inside another: the last one won, by the order of the
// fields.
void refuse_collisions(std::vector<ProjectedPath> paths) {
    // A dot comes before any other character, so what is inside of a path right behind it.
    const auto key = [](char c) { return c == '.' ? 0 : static_cast<unsigned char>(c); };
    std::ranges::sort(paths, sched::ticking([&](const ProjectedPath& a, const ProjectedPath& b) {
                          return std::ranges::lexicographical_compare(a.text, b.text, {}, key, key);
                      }));
    for (size_t i = 1; i < paths.size(); ++i) {
        const ProjectedPath& around = paths[i - 1];
        const ProjectedPath& path = paths[i];
        if (!path.text.starts_with(around.text)) continue;
        const std::string_view rest = path.text.substr(around.text.size());
        if (!rest.empty() && rest.front() != '.') continue;
        if (rest.empty() || path.at < around.at)
            base::fail(31250, "Path collision at {}", around.text);
        base::fail(31249, "Path collision at {} remaining portion {}", path.text, rest.substr(1));
    }
}

enum class Positional { taken, refused };  // a `$` at the end of a path

// Parts of a path that lead nowhere, and were ignored.
void check_path(std::string_view path, Positional positional) {
    if (path.empty()) base::fail(40352, "FieldPath cannot be constructed with empty string");
    if (path.ends_with('.')) base::fail(40353, "FieldPath must not end with a '.'.");
    constexpr std::string_view kOfReferences[] = {"$id", "$ref", "$db"};
    for (size_t at = 0; at < path.size();) {
        sched::tick();
        const size_t end = std::min(path.find('.', at), path.size());
        const std::string_view part = path.substr(at, end - at);
        if (part.empty()) base::fail(15998, "FieldPath field names may not be empty strings.");
        const bool is_position = part == "$" && at > 0 && positional == Positional::taken;
        if (is_position && end != path.size())
            base::fail(31394,
                       "the positional operator may only be at the end of the path of a "
                       "projection, for example: a.b.$");
        if (part.starts_with('$') && !is_position &&
            std::ranges::find(kOfReferences, part) == std::end(kOfReferences))
            base::fail(16410, "FieldPath field names may not start with '$'.");
        at = end + 1;
    }
}

// A part of a projection that says whether a field is there.
bool chooses(const bson::Element& e) {
    return e.is_number() || e.type() == bson::Type::boolean;
}

bson::Element operator_of(const bson::Element& e) {
    return e.is_object() ? e.as_doc().first() : bson::Element();
}

bool is_positional(const bson::Element& e) {
    return e.name().ends_with(".$");
}

// {$slice: n}, {$slice: [skip, n]}. Throws base::Error 28667 where it is not the $slice of
// expressions either, whose array stands first.
bool is_slice_of_find(const bson::Element& slice) {
    DCHECK(slice.name() == "$slice");
    if (slice.is_number()) return true;
    const int32_t count = slice.is_array() ? slice.as_doc().field_count() : 0;
    const bson::Element first = slice.is_array() ? slice.as_doc().first() : bson::Element();
    if (count == 2 && first.is_number()) {
        const bson::Element limit = slice.as_doc()["1"];
        if (limit.is_number() && limit.to_int32() > 0) return true;
    } else if ((count == 2 || count == 3) && !first.is_number()) {
        return false;
    }
    base::fail(28667,
               "Invalid $slice syntax: it has to be a number, [skip, number from 1 on], or "
               "[array, ...]");
}

bool is_of_find(const bson::Element& e) {
    const bson::Element op = operator_of(e);
    if (op.missing()) return false;
    return op.name() == "$elemMatch" || op.name() == "$meta" ||
           (op.name() == "$slice" && is_slice_of_find(op));
}

void check_meta(const bson::Element& meta, bson::Doc filter) {
    if (!meta.is_string()) base::fail(17307, "$meta only supports string arguments");
    if (meta.as_string() == "textScore" && query::asks_for_text(filter)) return;
    if (meta.as_string() == "textScore")
        base::fail(40218, "query requires text score metadata, but it is not available");
    constexpr std::string_view kOthers[] = {"randVal",      "recordId",       "indexKey",
                                            "sortKey",      "searchScore",    "searchHighlights",
                                            "geoNearPoint", "geoNearDistance"};
    if (std::ranges::find(kOthers, meta.as_string()) == std::end(kOthers))
        base::fail(17308, "Unsupported argument to $meta: {}", meta.as_string());
}

void check_elem_match(const bson::Element& e) {
    DCHECK(operator_of(e).name() == "$elemMatch");
    if (!operator_of(e).is_object())
        base::fail(31274, "elemMatch: Invalid argument, object required");
    if (e.name().find('.') != std::string_view::npos)
        base::fail(31275, "Cannot use $elemMatch projection on a nested field.");
    bson::Builder condition;
    condition.append(e);
    query::refuse_odd_flags(*query::Matcher::parse(condition.doc(), &query::kNoExpressionsHere));
}

// A projection that a find makes by itself, part by part.
class Choice {
  public:
    void add(const bson::Element& e) {
        if (chooses(e)) {
            if (is_positional(e)) add_positional(e);
            if (e.name() == "_id") return;
            if (!inclusion_) inclusion_ = e.truthy();
            if (*inclusion_ && !e.truthy())
                base::fail(31254, "Cannot do exclusion on field {} in inclusion projection",
                           e.name());
            if (!*inclusion_ && e.truthy())
                base::fail(31253, "Cannot do inclusion on field {} in exclusion projection",
                           e.name());
            return;
        }
        if (operator_of(e).name() != "$elemMatch") return;
        check_elem_match(e);
        elem_match_ = true;
        refuse_both();
    }

  private:
    void add_positional(const bson::Element& e) {
        DCHECK(is_positional(e) && chooses(e));
        if (!e.truthy() || !inclusion_.value_or(true))
            base::fail(31395, "positional projection cannot be used with exclusion");
        if (positional_)
            base::fail(31276, "Cannot specify more than one positional projection per query.");
        positional_ = true;
        refuse_both();
    }
    void refuse_both() const {
        if (positional_ && elem_match_)
            base::fail(31256, "Cannot specify both positional operator and $elemMatch");
    }

    std::optional<bool> inclusion_;
    bool positional_ = false;
    bool elem_match_ = false;
};

// {_id: 1, a: 0}: to the old server a mixture.
bool keeps_id_beside_exclusions(bson::Doc projection) {
    const bson::Element id = projection["_id"];
    if (!id || !chooses(id) || !id.truthy()) return false;
    for (const bson::Element& e : projection) {
        if (e.name() != "_id" && chooses(e) && !e.truthy()) return true;
    }
    return false;
}

}  // namespace

bool is_computed_projection(bson::Doc projection, bson::Doc filter) {
    std::vector<ProjectedPath> paths;
    bson::Element of_find;  // what $project does not know
    bool computed = keeps_id_beside_exclusions(projection);
    Choice choice;
    for (const bson::Element& e : sched::ticked(projection)) {
        check_path(e.name(), Positional::taken);
        if (is_positional(e) && operator_of(e).name() == "$slice")
            base::fail(31271, "Cannot specify $slice for the positional projection '{}'", e.name());
        const bool own = is_of_find(e);
        if (operator_of(e).name() == "$meta") check_meta(operator_of(e), filter);
        if (own || chooses(e))
            choice.add(e);
        else
            computed = true;
        if (own || is_positional(e)) of_find = e;
        std::string_view path = e.name();
        if (is_positional(e)) path.remove_suffix(2);
        paths.push_back({path, paths.size()});
    }
    if (computed && of_find)
        base::fail(base::kInvalidOptions,
                   "the projection of '{}' is not supported beside fields that are computed",
                   of_find.name());
    if (!computed) refuse_collisions(std::move(paths));
    return computed;
}

void check_sort_of_today(bson::Doc sort, bson::Doc filter) {
    if (sort.has("$natural")) return;
    if (sort.field_count() > storage::kKeyFieldsMax)
        base::fail(13103, "too many compound keys: a sort has at most {} fields",
                   storage::kKeyFieldsMax);
    for (const bson::Element& e : sched::ticked(sort)) {
        check_path(e.name(), Positional::refused);
        const bson::Element op = operator_of(e);
        if (e.is_object() && op.name() != "$meta")
            base::fail(17312, "$meta is the only expression supported by $sort right now");
        if (e.is_object()) {
            const bool is_score = op.is_string() && op.as_string() == "textScore";
            if (is_score && query::asks_for_text(filter)) continue;
            if (is_score)
                base::fail(40218, "query requires text score metadata, but it is not available");
            base::fail(31138, "Illegal $meta sort of '{}'", e.name());
        }
        if (!e.is_number())
            base::fail(15974,
                       "Illegal key in $sort specification: '{}' has to be a number or {{$meta: "
                       "...}}",
                       e.name());
        if (e.to_int64() != 1 && e.to_int64() != -1)
            base::fail(15975,
                       "$sort key ordering must be 1 (for ascending) or -1 (for descending): '{}'",
                       e.name());
    }
}

}  // namespace command
