// $match $project $redact $limit $skip.

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "dialect/pipelines.h"
#include "query/expression/filter_expression.h"
#include "query/match/match_tree.h"
#include "query/match/regex_flags.h"
#include "query/plan/query.h"
#include "query/stage/computing_stage.h"
#include "query/stage/narrowing.h"
#include "sched/interruption.h"
#include "sched/tick.h"

namespace query {

namespace {

// Operators that a pipeline's filter can't use.
void refuse_operators(bson::Doc filter, bool takes_text) {
    for (const Value& e : filter) {
        const std::string_view name = e.name();
        if (name == "$where")
            base::fail(16395, "$where is not allowed inside of a $match aggregation expression");
        if (name == "$near" || name == "$nearSphere" || name == "$geoNear") {
            base::fail(16424, "{} is not allowed inside of a $match aggregation expression", name);
        }
        if (name == "$text" && !takes_text)
            base::fail(17313, "$match with $text is only allowed as the first pipeline stage");
        if (e.is_object() || e.is_array()) refuse_operators(e.as_doc(), takes_text);
    }
}

void add_match_needs(const MatchNode& node, Needs& needs) {
    const bool logical = node.kind == MatchKind::conjunction ||
                         node.kind == MatchKind::disjunction || node.kind == MatchKind::nor ||
                         node.kind == MatchKind::sample || node.kind == MatchKind::text ||
                         node.kind == MatchKind::always_true ||
                         node.kind == MatchKind::always_false;
    if (node.kind == MatchKind::expression) return add_needs(*node.expression, needs);
    if (node.kind == MatchKind::schema)
        needs.whole_document = true;
    else if (!logical)
        needs.fields.emplace(path_without_positions(node.path));
    if (node.kind == MatchKind::elem_match_object || node.kind == MatchKind::elem_match_value) {
        return;
    }
    for (const auto& child : node.children)
        add_match_needs(*child, needs);
}

class Project : public Computing {
  public:
    Project(bson::Doc spec, const PipelineContext& context) {
        Names names(context);
        object_ = parse_projection(spec, names);
        prepare(names);
    }

    bool next(bson::Doc* out) override {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        if (restriction_ && !restriction_->keeps_all(doc)) {
            restricted_.clear();
            restriction_->write_doc(doc, restricted_);
            doc = bson::Doc(restricted_.data());
        }
        Scope& scope = scope_for(doc);
        out_.clear();
        const size_t start = open_doc(out_);
        object_->project(doc, scope, out_);
        if (carries_score_) append_score(doc, out_);
        close_doc(out_, start);
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }

    void add_needs(Needs& needs) const override {
        std::string path;
        object_->add_needs_below(path, needs);
        if (carries_score_) needs.fields.emplace(kScoreField);
    }
    void carry_score() override {
        Computing::carry_score();
        if (restriction_) simplify_expressions();
    }
    void simplify_expressions() override {
        object_->simplified();
        Needs needs;
        add_needs(needs);
        // Without a computed field there is no difference to see.
        if (!needs.whole_document && object_->computes_something())
            restriction_ = std::make_unique<Narrowing>(needs, Narrowing::Others::dropped);
    }

  private:
    std::unique_ptr<ObjectExpression> object_;
    // The old server took only what is read from the collection, which shows: a computed field
    // whose namesake is not read comes last, and does not look into the namesake's array. Here it
    // is so wherever the stage stands.
    std::unique_ptr<Narrowing> restriction_;
    bson::Buffer restricted_;
};

// Projects as later servers do: included fields come as the document has them, computed ones after
// them.
class LaterProject : public Computing {
  public:
    LaterProject(bson::Doc spec, const PipelineContext& context) {
        Names names(context, dialect::kToday);
        object_ = parse_projection_of_today(spec, names);
        prepare(names);
    }

    bool next(bson::Doc* out) override {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        Scope& scope = scope_for(doc);
        out_.clear();
        const size_t start = open_doc(out_);
        object_->project_as_today(doc, scope, out_);
        if (carries_score_) append_score(doc, out_);
        close_doc(out_, start);
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }

    void add_needs(Needs& needs) const override {
        std::string path;
        object_->add_needs_below(path, needs);
        // Below a path a value is computed for each element of an array.
        if (object_->computes_something()) object_->add_names_with_parts(needs);
        if (carries_score_) needs.fields.emplace(kScoreField);
    }
    void simplify_expressions() override { object_->simplified(); }

  private:
    std::unique_ptr<ObjectExpression> object_;
};

class Redact : public Computing {
  public:
    Redact(const Value& spec, const PipelineContext& context) {
        Names names(context, context.dialect);
        const size_t first = names.slots();
        for (const char* name : kDecisions)
            names.define_system(name);
        expression_ = parse_operand(spec, names);
        prepare(names);
        // The decisions are strings that only an expression can give.
        DCHECK(first + std::size(kDecisions) <= scope_.variables.size());
        for (size_t i = 0; i < 3; ++i) {
            scope_.variables[first + i] = {make_string(constants_, kValues[i])};
        }
    }

    bool next(bson::Doc* out) override {
        bson::Doc doc;
        while (previous_->next(&doc)) {
            scope_for(doc);
            out_.clear();
            if (!write_doc(doc)) continue;
            *out = bson::Doc(out_.data());
            return true;
        }
        return false;
    }

    void add_needs(Needs& needs) const override { needs.whole_document = true; }
    void simplify_expressions() override { simplify(expression_); }

  private:
    static constexpr const char* kDecisions[] = {"KEEP", "PRUNE", "DESCEND"};
    static constexpr const char* kValues[] = {"keep", "prune", "descend"};

    // Appends the remaining parts of the current document; false if that is nothing.
    bool write_doc(bson::Doc doc) {
        const Value decision = expression_->evaluate(scope_);
        const std::string_view text = decision.is_string() ? decision.as_string() : "";
        if (text == kValues[0]) {
            out_.append(doc.data(), static_cast<size_t>(doc.size()));
            return true;
        }
        if (text == kValues[1]) return false;
        if (text != kValues[2]) {
            base::fail(17053,
                       "$redact's expression should not return anything aside from the "
                       "variables $$KEEP, $$DESCEND, and $$PRUNE, but returned {}",
                       decision ? bson::to_text(decision) : "nothing");
        }
        const size_t start = open_doc(out_);
        for (const Value& e : doc)
            write_value_of(e, e.name());
        close_doc(out_, start);
        return true;
    }

    void write_value_of(const Value& e, std::string_view name) {
        sched::tick();
        if (e.is_object()) {
            const size_t before = out_.size();
            write_header(out_, e.type(), name);
            const Scope::Variable outer = scope_.variables[Scope::kCurrent];
            scope_.variables[Scope::kCurrent] = {e};
            if (!write_doc(e.as_doc())) out_.truncate(before);
            scope_.variables[Scope::kCurrent] = outer;
        } else if (e.is_array()) {
            write_header(out_, e.type(), name);
            const size_t start = open_doc(out_);
            uint32_t index = 0;
            for (const Value& inner : e.as_doc()) {
                const size_t before = out_.size();
                write_value_of(inner, bson::IndexName(index).view());
                if (out_.size() != before) ++index;
            }
            close_doc(out_, start);
        } else {
            write_value(out_, name, e);
        }
    }

    Arena constants_;
    ExpressionPtr expression_;
};

// Checks the number of $limit and $skip by OP_MSG: the old server cut fractions off. Throws
// base::Error with `code`.
void check_whole(const Value& spec, int code) {
    const auto refuse = [&](std::string_view wanted) {
        base::fail(code, "invalid argument to {} stage: Expected {}: {}", spec.name(), wanted,
                   bson::to_text(spec));
    };
    if (!spec.is_number()) refuse("a number");
    if (spec.to_double() < 0) refuse("a non-negative number");
    if (spec.to_double() != static_cast<double>(spec.to_int64())) refuse("an integer");
}

}  // namespace

void check_document_bytes(bson::Doc doc) {
    if (doc.size() > kPipelineDocumentBytes)
        base::fail(10334, "a document of {} bytes in a pipeline is too large, at most {}",
                   doc.size(), kPipelineDocumentBytes);
}

MatchStage::MatchStage(bson::Doc filter, const PipelineContext& context, bool takes_text) {
    refuse_operators(filter, takes_text);
    const FilterExpressions expressions(context.variables);
    try {
        matcher_ = Matcher::parse_query(
            filter, context.dialect.has(dialect::kExpressionsInFilters) ? &expressions : nullptr,
            context.collator);
        if (context.dialect.has(dialect::kRegexIsChecked)) refuse_odd_flags(*matcher_);
    } catch (const base::Error& e) {
        if (context.dialect.has(dialect::kBadQueriesAreOfFind)) throw;
        sched::fail_because(e, 16810, "bad query: {}", e.what());
    }
}

MatchStage::~MatchStage() = default;

bool MatchStage::next(bson::Doc* out) {
    while (previous_->next(out)) {
        sched::tick();
        if (matcher_->matches(*out)) return true;
    }
    return false;
}

void MatchStage::add_needs(Needs& needs) const {
    add_match_needs(matcher_->root(), needs);
}

bson::Doc MatchStage::filter() const {
    return matcher_->filter();
}

bool MatchStage::has_text() const {
    return matcher_->text() != nullptr;
}

bool LimitStage::next(bson::Doc* out) {
    DCHECK(left_ >= 0 && left_ <= limit_);
    if (left_ == 0 || !previous_->next(out)) return false;
    --left_;
    return true;
}

bool SkipStage::next(bson::Doc* out) {
    DCHECK(left_ >= 0 && left_ <= skip_);
    for (; left_ > 0; --left_) {
        sched::tick();
        if (!previous_->next(out)) return false;
    }
    return previous_->next(out);
}

StagePtr make_match(const Value& spec, const PipelineContext& context, bool takes_text) {
    if (!spec.is_object()) base::fail(15959, "the match filter must be an expression in an object");
    return std::make_unique<MatchStage>(spec.as_doc(), context, takes_text);
}

StagePtr make_project(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object()) base::fail(15969, "$project specification must be an object");
    if (context.dialect.has(dialect::kProjectExcludes)) {
        if (StagePtr exclusion = make_exclusion(spec.as_doc())) return exclusion;
    }
    if (context.dialect.has(dialect::kProjectComputes))
        return std::make_unique<LaterProject>(spec.as_doc(), context);
    return std::make_unique<Project>(spec.as_doc(), context);
}

StagePtr make_redact(const Value& spec, const PipelineContext& context) {
    return std::make_unique<Redact>(spec, context);
}

StagePtr make_limit(const Value& spec, const PipelineContext& context) {
    if (context.dialect.has(dialect::kStagesAreChecked)) check_whole(spec, 5107201);
    if (!spec.is_number()) base::fail(15957, "the limit must be specified as a number");
    if (spec.to_int64() <= 0) base::fail(15958, "the limit must be positive");
    return std::make_unique<LimitStage>(spec.to_int64());
}

StagePtr make_skip(const Value& spec, const PipelineContext& context) {
    if (context.dialect.has(dialect::kStagesAreChecked)) check_whole(spec, 5107200);
    if (!spec.is_number()) {
        base::fail(15972, "Argument to $skip must be a number not a {}", type_name(spec.type()));
    }
    if (spec.to_int64() < 0) base::fail(15956, "Argument to $skip cannot be negative");
    return std::make_unique<SkipStage>(spec.to_int64());
}

}  // namespace query
