#include "query/project/projection.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "bson/field_path.h"
#include "query/match/field_index.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::Builder;
using bson::Doc;
using bson::Element;

// Faults of a specification have codes of their own in findAndModify.
constexpr int kMixed = 10053;
constexpr int kUnsupportedOption = 13097;
constexpr int kSliceTypes = 13098;
constexpr int kSliceSize = 13099;
constexpr int kSliceLimit = 13100;
constexpr int kElementMatchNotObject = 16342;
constexpr int kElementMatchAndPosition = 16343;
constexpr int kElementMatchNested = 16344;
constexpr int kPositionExcluded = 16345;
constexpr int kPositionTwice = 16346;
constexpr int kPositionAndElementMatch = 16347;
// The cost of reading a rule (sched/tick.h).
constexpr int64_t kTicksPerField = 4;

// The rules for the fields of one document (or of the documents in an array): those named in
// `fields` have rules of their own, the others are kept or dropped by `keep_others`. Rules are laid
// down one after the other as the specification names them, and the last one decides `keep_others`.
struct Rules {
    struct Field;

    const Rules* find(std::string_view name) const;
    void keep(std::string_view path, bool wanted, bool top = true);
    void slice(std::string_view path, int32_t new_skip, int32_t new_limit, bool top = true);
    // Keeps nothing else of the documents on the way to `path`.
    void keep_only(std::string_view path);

    bool keep_others = true;
    bool sliced = false;
    int32_t skip = 0;    // of $slice; negative: from the end
    int32_t limit = -1;  // -1: all
    sched::Vector<Field> fields;

  private:
    Rules& descend(std::string_view* path);

    FieldIndex index_;  // of `fields`
};

struct Rules::Field {
    std::string name;
    Rules rules;
};

const Rules* Rules::find(std::string_view name) const {
    const size_t at = index_.find(
        name, fields.size(), [this](size_t i) -> const auto& { return fields[i].name; });
    return at == FieldIndex::kNone ? nullptr : &fields[at].rules;
}

// Splits off the first part of a path and goes to its rules. "a." means "a".
Rules& Rules::descend(std::string_view* path) {
    const size_t dot = path->find('.');
    const std::string_view name = path->substr(0, dot);
    *path = dot == std::string_view::npos ? std::string_view() : path->substr(dot + 1);
    if (const Rules* there = find(name)) return const_cast<Rules&>(*there);
    fields.push_back({std::string(name), Rules()});
    index_.added(fields.size() - 1, name);
    return fields.back().rules;
}

void Rules::keep(std::string_view path, bool wanted, bool top) {
    if (path.empty() && !top) {
        keep_others = wanted;
        return;
    }
    keep_others = !wanted;
    descend(&path).keep(path, wanted, false);
}

void Rules::slice(std::string_view path, int32_t new_skip, int32_t new_limit, bool top) {
    if (path.empty() && !top) {
        sliced = true;
        skip = new_skip;
        limit = new_limit;
        return;
    }
    descend(&path).slice(path, new_skip, new_limit, false);
}

void Rules::keep_only(std::string_view path) {
    if (path.empty()) return;
    keep_others = false;
    descend(&path).keep_only(path);
}

// An $elemMatch projection: the first element of `field` that matches, in an array of its own.
struct ElementMatch {
    std::string field;
    std::unique_ptr<Matcher> matcher;  // of {field: {$elemMatch: ...}}
};

class FieldProjection : public Projection {
  public:
    void apply(Doc doc, const MatchDetails* details, bson::Buffer& buffer) const override {
        Builder out(buffer);
        if (shows_nothing_) return out.finish();
        const double score = details == nullptr ? 0 : details->score;
        for (const Element& e : doc) {
            if (e.name() == "_id" && !parts_of_id_) {
                if (id_is_score_)
                    out.append("_id", score);
                else if (keep_id_)
                    out.append(e);
            } else if (const ElementMatch* match = find_match(e.name())) {
                append_match(*match, e, out);
            } else if (!is_score(e.name())) {
                append(root_, e, details, true, out);
            }
        }
        for (const std::string& name : scores_)
            out.append(name, score);
        out.finish();
    }

    bool needs_details() const override {
        return is_positional() || !scores_.empty() || id_is_score_;
    }
    bool is_positional() const { return !positional_.empty(); }

    bool covered_by(const std::vector<std::string>& index_fields) const override {
        const auto held = [&](std::string_view name) {
            return std::find(index_fields.begin(), index_fields.end(), name) != index_fields.end();
        };
        if (root_.keep_others || needs_details() || !matches_.empty()) return false;
        if (keep_id_ && !parts_of_id_ && !held("_id")) return false;
        return std::all_of(
            root_.fields.begin(), root_.fields.end(),
            [&](const Rules::Field& field) { return is_plain(field.rules) && held(field.name); });
    }

    bool takes(std::string_view field) const override {
        return field == "_id" && !parts_of_id_ ? keep_id_ : root_.find(field) != nullptr;
    }

  private:
    friend class Parser;

    static bool is_plain(const Rules& rules) {
        return rules.fields.empty() && !rules.sliced && rules.keep_others;
    }

    const ElementMatch* find_match(std::string_view name) const {
        if (matches_.empty()) return nullptr;
        const size_t at = match_index_.find(
            name, matches_.size(), [this](size_t i) -> const auto& { return matches_[i].field; });
        return at == FieldIndex::kNone ? nullptr : &matches_[at];
    }
    bool is_score(std::string_view name) const {
        if (scores_.empty()) return false;
        return score_index_.find(
                   name, scores_.size(), [this](size_t i) -> const auto& { return scores_[i]; }) !=
               FieldIndex::kNone;
    }

    static void append_match(const ElementMatch& match, const Element& e, Builder& out) {
        if (!e.is_array()) return;
        const MatchNode& node = *match.matcher->root().children[0];
        for (const Element& member : e.as_doc()) {
            if (!Matcher::element_matches(node, member)) continue;
            Builder array = out.sub_array(e.name());
            array.append_as("0", member);
            return;
        }
    }

    void append(const Rules& rules, const Element& e, const MatchDetails* details, bool top,
                Builder& out) const {
        sched::tick();
        const Rules* own = rules.find(e.name());
        if (own == nullptr) {
            if (rules.keep_others) out.append(e);
        } else if ((own->fields.empty() && !own->sliced) || !(e.is_object() || e.is_array())) {
            if (own->keep_others) out.append(e);
        } else if (e.is_object()) {
            Builder object = out.sub_object(e.name());
            for (const Element& field : e.as_doc())
                append(*own, field, details, false, object);
        } else if (is_positional()) {
            append_positional(e, details, top, out);
        } else {
            Builder array = out.sub_array(e.name());
            append_members(*own, e.as_doc(), own->skip, own->limit, array);
        }
    }

    // Only the element that the filter chose. This holds for every array that has rules. Without
    // such an element an array of the document itself is an error, one further inside is dropped.
    void append_positional(const Element& e, const MatchDetails* details, bool top,
                           Builder& out) const {
        const bool chosen = details != nullptr && details->has_index;
        uint32_t left = chosen ? details->array_index : 0;
        for (const Element& member : sched::ticked(e.as_doc())) {
            if (!chosen || left-- > 0) continue;
            Builder array = out.sub_array(e.name());
            array.append_as("0", member);
            return;
        }
        if (top)
            base::fail(code_of_mismatch_,
                       "positional operator ({}) requires corresponding field in query specifier",
                       positional_);
    }

    void append_members(const Rules& rules, Doc members, int32_t skip, int32_t limit,
                        Builder& out) const {
        if (skip < 0) skip = std::max(0, skip + members.field_count());
        for (const Element& e : sched::ticked(members)) {
            if (skip > 0) {
                --skip;
                continue;
            }
            if (limit != -1 && limit-- == 0) break;
            if (e.is_array()) {
                Builder array = out.sub_array(out.next().view());
                append_members(rules, e.as_doc(), 0, -1, array);
            } else if (e.is_object()) {
                Builder object = out.sub_object(out.next().view());
                for (const Element& field : e.as_doc())
                    append(rules, field, nullptr, false, object);
            } else if (rules.keep_others) {
                out.push_element(e);
            }
        }
    }

    Rules root_;
    bool keep_id_ = true;
    bool parts_of_id_ = false;  // `_id` has rules as any other field
    int code_of_mismatch_ = base::kBadValue;
    std::string positional_;  // the path with `$`; empty: none
    sched::Vector<ElementMatch> matches_;
    std::vector<std::string> scores_;  // {$meta: "textScore"}: 0 without a text search
    bool id_is_score_ = false;
    bool shows_nothing_ = false;  // {$meta: "indexKey"}, as the old server did
    FieldIndex match_index_, score_index_;
};

// Whether the filter has a clause on the array (the path's first part) that could choose an
// element.
bool filter_names(const MatchNode& node, std::string_view first_part) {
    if (node.kind == MatchKind::expression) return false;
    const bool logical = node.path.empty() && node.kind != MatchKind::always_true;
    if (logical || node.kind == MatchKind::negation) {
        return std::any_of(node.children.begin(), node.children.end(),
                           [&](const auto& child) { return filter_names(*child, first_part); });
    }
    return std::string_view(node.path).substr(0, node.path.find('.')) == first_part;
}

// Returns where the positional operator begins: "a.$", "a.$.b", "a.$id.$"; not in "a.$id", which is
// a field of a DBRef. npos: nowhere.
size_t find_positional(std::string_view path, size_t from = 0) {
    for (size_t at = path.find(".$", from); at != std::string_view::npos;
         at = path.find(".$", at + 1)) {
        const std::string_view name = path.substr(at + 1);
        if (!name.starts_with("$ref") && !name.starts_with("$id") && !name.starts_with("$db"))
            return at;
    }
    return std::string_view::npos;
}

bool is_positional(std::string_view path) {
    return find_positional(path) != std::string_view::npos;
}

class Parser {
  public:
    Parser(const Matcher* filter, const ExpressionParser* expressions, bool by_name,
           std::shared_ptr<const collation::Collator> collator)
        : filter_(filter),
          expressions_(expressions),
          by_name_(by_name),
          collator_(std::move(collator)) {}

    std::unique_ptr<Projection> parse(Doc spec) {
        for (const Element& e : sched::ticked(spec, kTicksPerField)) {
            bson::check_path_parts(e.name());
            if (e.is_object())
                parse_operator(e);
            else if (e.name() == "_id" && !e.truthy())
                result_->keep_id_ = false;
            else
                parse_field(e);
            if (is_positional(e.name())) check_positional(e.name(), is_wanted(e));
            if (expressions_ != nullptr && e.name().starts_with("_id."))
                result_->parts_of_id_ = true;
        }
        if (expressions_ != nullptr && !result_->root_.keep_others)
            for (const std::string_view path : slices_)
                result_->root_.keep_only(path);
        return std::move(result_);
    }

  private:
    template <typename... Args>
    [[noreturn]] void bad(int code, fmt::format_string<Args...> format, Args&&... args) const {
        base::fail(by_name_ ? code : base::kBadValue, format, std::forward<Args>(args)...);
    }

    void parse_field(const Element& e) {
        const bool wanted = is_wanted(e);
        if (!inclusion_) inclusion_ = wanted;
        if (*inclusion_ != wanted)
            bad(kMixed, "Projection cannot have a mix of inclusion and exclusion.");
        result_->root_.keep(e.name(), wanted);
    }

    // Returns the error's code if there is no element that the filter chose.
    int code_of_mismatch() const { return expressions_ != nullptr ? 51246 : base::kBadValue; }

    // Anything counts as true but false and zero.
    static bool is_wanted(const Element& e) {
        return e.truthy() || !(e.is_number() || e.type() == bson::Type::boolean ||
                               e.type() == bson::Type::null || e.type() == bson::Type::undefined);
    }

    void check_positional(std::string_view path, bool wanted) {
        if (!wanted)
            bad(kPositionExcluded, "Cannot exclude array elements with the positional operator.");
        if (!result_->positional_.empty())
            bad(kPositionTwice, "Cannot specify more than one positional proj. per query.");
        if (!result_->matches_.empty())
            bad(kElementMatchAndPosition, "Cannot specify positional operator and $elemMatch.");
        if (find_positional(path, find_positional(path) + 1) != std::string_view::npos)
            bad(kPositionTwice,
                "Positional projection '{}' contains the positional operator more than once.",
                path);
        if (by_name_) return;
        const std::string_view array = path.substr(0, path.find('.'));
        if (filter_ == nullptr || !filter_names(filter_->root(), array))
            base::fail(code_of_mismatch(),
                       "Positional projection '{}' does not match the query document.", path);
        result_->positional_ = path;
        result_->code_of_mismatch_ = code_of_mismatch();
    }

    void parse_operator(const Element& e) {
        const Doc argument = e.as_doc();
        if (argument.field_count() != 1) bad(kUnsupportedOption, ">1 field in obj: {}", e.name());
        const Element op = argument.first();
        if (op.name() == "$slice")
            parse_slice(e.name(), op);
        else if (op.name() == "$elemMatch")
            parse_elem_match(e.name(), op, argument);
        else if (op.name() == "$meta")
            parse_meta(e.name(), op);
        else
            bad(kUnsupportedOption, "Unsupported projection option: {}: {}", e.name(), op.name());
    }

    void parse_slice(std::string_view path, const Element& op) {
        slices_.push_back(path);
        if (op.is_number()) {
            const int32_t n = op.to_int32();
            result_->root_.slice(path, std::min(n, 0), n < 0 ? -std::max(n, -INT32_MAX) : n);
        } else if (op.is_array()) {
            const Doc pair = op.as_doc();
            if (pair.field_count() != 2) bad(kSliceSize, "$slice array wrong size");
            auto part = pair.begin();
            const int32_t skip = part->to_int32();
            const int32_t limit = (++part)->to_int32();
            if (limit <= 0) bad(kSliceLimit, "$slice limit must be positive");
            result_->root_.slice(path, skip, limit);
        } else {
            bad(kSliceTypes, "$slice only supports numbers and [skip, limit] arrays");
        }
    }

    void parse_elem_match(std::string_view path, const Element& op, Doc argument) {
        if (!op.is_object())
            bad(kElementMatchNotObject, "elemMatch: Invalid argument, object required.");
        if (!result_->positional_.empty())
            bad(kPositionAndElementMatch, "Cannot specify positional operator and $elemMatch.");
        if (path.find('.') != std::string_view::npos)
            bad(kElementMatchNested, "Cannot use $elemMatch projection on a nested field.");
        auto matcher = Matcher::parse(bson::make(path, argument).doc(), expressions_, collator_);
        // To a filter {$ref: ...} and {$comment: ...} are no conditions on a field.
        if (path.starts_with('$'))
            matcher = Matcher::parse(bson::make("", argument).doc(), expressions_, collator_);
        result_->match_index_.added(result_->matches_.size(), path);
        result_->matches_.push_back({std::string(path), std::move(matcher)});
        result_->root_.keep(path, true);
    }

    void parse_meta(std::string_view path, const Element& op) {
        const bool of_v26 = expressions_ == nullptr;
        if (of_v26 && !by_name_ && op.is_string() && op.as_string() == "indexKey") {
            result_->shows_nothing_ = true;
            return;
        }
        if (!op.is_string() || op.as_string() != "textScore")
            bad(kUnsupportedOption, "unsupported $meta operator: {}", path);
        if (of_v26 && path.find('.') != std::string_view::npos)
            bad(kUnsupportedOption, "$meta needs the name of a field, not a path: {}", path);
        if (path == "_id") {
            result_->id_is_score_ = true;
            return;
        }
        result_->score_index_.added(result_->scores_.size(), path);
        result_->scores_.emplace_back(path);
    }

    const Matcher* filter_;
    const ExpressionParser* const expressions_;
    const bool by_name_;
    const std::shared_ptr<const collation::Collator> collator_;
    std::vector<std::string_view> slices_;
    std::unique_ptr<FieldProjection> result_ = std::make_unique<FieldProjection>();
    std::optional<bool> inclusion_;  // once a plain field has decided
};

}  // namespace

std::unique_ptr<Projection> Projection::parse(Doc spec, const Matcher* filter,
                                              const ExpressionParser* expressions,
                                              std::shared_ptr<const collation::Collator> collator) {
    if (spec.empty()) return nullptr;
    return Parser(filter, expressions, false, std::move(collator)).parse(spec);
}

std::unique_ptr<Projection> Projection::parse_by_name(
    Doc spec, const ExpressionParser* expressions,
    std::shared_ptr<const collation::Collator> collator) {
    if (spec.empty()) return nullptr;
    return Parser(nullptr, expressions, true, std::move(collator)).parse(spec);
}

}  // namespace query
