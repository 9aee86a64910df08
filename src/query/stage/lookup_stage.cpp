// $lookup, later than 2.6: to each document those of another collection that belong to it.

#include "base/dcheck.h"
#include "dialect/dialect.h"
#include "query/stage/foreign_stage.h"
#include "query/stage/narrowing.h"
#include "query/stage/pipeline.h"
#include "sched/tick.h"

namespace query {

namespace {

// Reads the other collection by a pipeline, which is made anew for each document: what the document
// is joined by is its first filter, which an index serves, and variables have the document's
// values.
class Lookup : public ForeignStage {
  public:
    Lookup(bson::Doc spec, const PipelineContext& outer)
        : ForeignStage(outer), outer_variables_(outer.variables.size()) {
        Names names(outer, dialect::kToday);
        for (const Value& e : spec)
            parse_option(e, names);
        check_options();
        prepare(names);
        if (!has_pipeline_) return;
        check_sub_pipeline(pipeline_, outer, "$lookup", 51047);
        // Now, and not with the first document.
        const bson::Object holder = sub_pipeline({}, pipeline_);
        pipeline_levels_ = Pipeline::parse(holder["p"].as_doc(), inner_)->further_levels();
    }

    void add_needs(Needs& needs) const override {
        if (!local_.empty()) needs.fields.emplace(path_without_positions(local_text_));
        for (const ExpressionPtr& value : variables_)
            value->add_needs(needs);
    }
    void simplify_expressions() override {
        for (ExpressionPtr& value : variables_)
            simplify(value);
    }
    int further_levels() const override {
        return ForeignStage::further_levels() + pipeline_levels_;
    }

  private:
    void parse_option(const Value& e, Names& names) {
        const std::string_view name = e.name();
        if (name == "pipeline") {
            if (!e.is_array())
                base::fail(base::kTypeMismatch, "'pipeline' option must be specified as an array");
            pipeline_ = e.as_doc();
            has_pipeline_ = true;
        } else if (name == "let") {
            parse_variables(e, names);
        } else if (name == "from") {
            from_ = foreign_name(e, "$lookup");
        } else if (name == "localField") {
            local_text_ = text_option(e);
            local_ = split_path(local_text_, dialect::kToday);
        } else if (name == "foreignField") {
            foreign_ = text_option(e);
            split_path(foreign_, dialect::kToday);
        } else if (name == "as") {
            as_ = split_path(text_option(e), dialect::kToday);
        } else {
            base::fail(base::kFailedToParse, "unknown argument to $lookup: {}", name);
        }
    }

    static std::string text_option(const Value& e) {
        if (!e.is_string())
            base::fail(base::kFailedToParse, "$lookup argument '{}' must be a string, not {}",
                       e.name(), type_name(e.type()));
        return std::string(e.as_string());
    }

    // They are computed from the document of this stage, and known to the pipeline alone.
    void parse_variables(const Value& let, Names& names) {
        if (!let.is_object())
            base::fail(base::kFailedToParse, "$lookup argument 'let' must be an object, not {}",
                       type_name(let.type()));
        has_variables_ = true;
        for (const Value& e : let.as_doc()) {
            if (e.name() == "CURRENT")
                base::fail(16867, "'CURRENT' cannot be a variable of $lookup");
            Names(inner_.variables).define(e.name());
            variables_.push_back(parse_operand(e, names));
            inner_.variables.emplace_back(e.name(), Value());
        }
    }

    void check_options() const {
        check_has_documents(!from_.empty(), pipeline_, "$lookup");
        if (as_.empty()) base::fail(base::kFailedToParse, "must specify 'as' field for a $lookup");
        if (local_.empty() != foreign_.empty())
            base::fail(base::kFailedToParse,
                       "$lookup requires both or neither of 'localField' and 'foreignField' to be "
                       "specified");
        if (has_pipeline_) return;
        if (local_.empty())
            base::fail(base::kFailedToParse,
                       "$lookup requires either 'pipeline' or both 'localField' and "
                       "'foreignField' to be specified");
        if (has_variables_)
            base::fail(base::kFailedToParse,
                       "$lookup with a 'let' argument must also specify 'pipeline'");
    }

    void find(bson::Doc doc) override {
        Scope& scope = scope_for(doc);
        DCHECK(inner_.variables.size() == outer_variables_ + variables_.size());
        for (size_t i = 0; i < variables_.size(); ++i)
            inner_.variables[outer_variables_ + i].second = variables_[i]->evaluate(scope);
        const bson::Object holder = sub_pipeline(join_filter(doc), pipeline_);
        const auto pipeline = Pipeline::parse(holder["p"].as_doc(), inner_);
        if (!pipeline->has_own_source()) inner_.foreign->connect(from_, *pipeline);
        bson::Doc found;
        while (pipeline->next(&found)) {
            sched::tick();
            add_element(found);
        }
    }

    // Returns a filter for the document's values at localField; a missing value and an empty array
    // are looked for as null.
    bson::Object join_filter(bson::Doc doc) {
        if (local_.empty()) return {};
        values_.clear();
        append_values_at(doc, local_, values_);
        if (values_.empty()) values_.emplace_back();
        return one_of(foreign_, values_);
    }

    std::string local_text_;
    std::vector<std::string> local_;
    std::string foreign_;
    bson::Doc pipeline_;  // in the specification
    bool has_pipeline_ = false;
    bool has_variables_ = false;
    int pipeline_levels_ = 0;
    const size_t outer_variables_;  // how many of inner_.variables come before those of `let`
    std::vector<ExpressionPtr> variables_;
    sched::Vector<Value> values_;
};

}  // namespace

StagePtr make_lookup(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse, "the $lookup specification must be an Object, not {}",
                   type_name(spec.type()));
    return std::make_unique<Lookup>(spec.as_doc(), context);
}

}  // namespace query
