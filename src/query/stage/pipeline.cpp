#include "query/stage/pipeline.h"

#include <algorithm>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/validate.h"
#include "dialect/filters.h"
#include "dialect/pipelines.h"
#include "query/expression/filter_expression.h"
#include "query/plan/query.h"
#include "query/stage/geo_near_stage.h"
#include "query/stage/narrowing.h"
#include "query/stage/output.h"
#include "query/stage/stage.h"
#include "sched/tick.h"

namespace query {

namespace {

// Each stage calls the one before it, so that a document needs the stack of them all.
constexpr int kStagesMax = 1000;
constexpr int kUnknownStage = 40324;
constexpr int kUnknownStageOf26 = 16436;
constexpr int kOutputNotLast = 40601;
constexpr int kOutputNotLastOf26 = 16991;
// The cost of making a stage and of taking it down (sched/tick.h).
constexpr int64_t kTicksPerStage = 4;

// How many levels a stage can add at most: as many as its specification has, parts of paths
// included.
int levels_of(bson::Doc spec) {
    int most = 0;
    for (const Value& e : sched::ticked(spec)) {
        int levels = 1 + static_cast<int>(std::ranges::count(e.name(), '.'));
        if (e.is_object() || e.is_array()) levels += levels_of(e.as_doc());
        most = std::max(most, levels);
    }
    return most;
}

// More fields than these are not distinguished from whole documents: a thousand stages may name ten
// thousand, each all of those behind it.
constexpr size_t kNeedsMax = 200;

// Passes documents on that are not nested more deeply than those that come from clients: whatever
// walks a document needs stack for every level. Stages put documents into each other, and there may
// be a thousand of them.
class DepthLimit : public Stage {
  public:
    bool next(bson::Doc* out) override {
        if (!previous_->next(out)) return false;
        sched::tick_bytes(out->size(), sched::PerTick::walked);
        bson::check_depth(*out, "a document in a pipeline");
        return true;
    }
    void add_needs(Needs&) const override {}

  private:
};

// Whether a part of a pipeline asks for the score of a text search.
bool names_score(bson::Doc spec) {
    for (const Value& e : sched::ticked(spec)) {
        if (e.name() == "$meta" && e.is_string() && e.as_string() == "textScore") return true;
        if ((e.is_object() || e.is_array()) && names_score(e.as_doc())) return true;
    }
    return false;
}

// The same of stages. The pipelines of those that read other collections have scores of their own.
bool stages_name_score(bson::Doc stages) {
    for (const Value& stage : sched::ticked(stages)) {
        if (!stage.is_object()) continue;
        const Value spec = stage.as_doc().first();
        const bool reads_others = spec.name() == "$lookup" || spec.name() == "$unionWith";
        if (!spec.is_object() || (!reads_others && spec.name() != "$facet")) {
            if (names_score(stage.as_doc())) return true;
            continue;
        }
        for (const Value& e : sched::ticked(spec.as_doc())) {
            if (reads_others && e.name() == "pipeline") continue;
            const bool is_facet = !reads_others && e.is_array();
            if (is_facet && stages_name_score(e.as_doc())) return true;
            if (!is_facet && e.is_object() && names_score(e.as_doc())) return true;
        }
    }
    return false;
}

// Takes the score off that documents carried.
class Unscored : public Stage {
  public:
    bool next(bson::Doc* out) override {
        if (!previous_->next(out)) return false;
        if (!out->has(kScoreField)) return true;
        out_.clear();
        bson::Builder without(out_);
        for (const bson::Element& e : sched::ticked(*out))
            if (e.name() != kScoreField) without.append(e);
        *out = without.doc();
        return true;
    }
    void add_needs(Needs&) const override {}

  private:
    bson::Buffer out_;
};

// Gives the stages what they read of each document.
class SourceStage : public Stage, private DocumentBatch {
  public:
    bool next(bson::Doc* out) override {
        if (at_ == buffer_.size()) {
            buffer_.clear();
            at_ = 0;
            if (source_) source_(*this);
            if (buffer_.size() == 0) return false;
        }
        *out = bson::Doc(buffer_.data() + at_);
        at_ += static_cast<size_t>(out->size());
        DCHECK(at_ <= buffer_.size());
        return true;
    }
    void add_needs(Needs&) const override {}
    void set(BatchSource source) { source_ = std::move(source); }
    void narrow(const Needs& needs) {
        DCHECK(buffer_.size() == 0);  // all of it is narrowed in one way
        narrowing_.reset();
        if (!needs.whole_document) narrowing_.emplace(needs, Narrowing::Others::kept);
    }

  private:
    void add(bson::Doc doc) override {
        DCHECK(at_ == 0);  // none of the batch has been handed out
        if (narrowing_)
            narrowing_->write_doc(doc, buffer_);
        else
            buffer_.append(doc.data(), static_cast<size_t>(doc.size()));
    }
    size_t bytes() const override { return buffer_.size(); }

    BatchSource source_;
    std::optional<Narrowing> narrowing_;  // none: whole documents
    bson::Buffer buffer_;                 // of documents, one behind another
    size_t at_ = 0;                       // of the next one
};

class StagedPipeline : public Pipeline {
  public:
    StagedPipeline(bson::Doc stages, const PipelineContext& context)
        : narrows_(context.narrows), let_(context.let), collator_(context.collator), copy_(stages) {
        const int count = context.outer_stages + copy_.doc().field_count();
        if (count > kStagesMax)
            base::fail(base::kFailedToParse, "a pipeline of {} stages is too long, at most {}",
                       count, kStagesMax);
        if (context.dialect.has(dialect::kExpressionsInFilters))
            expressions_.emplace(context.variables);
        PipelineContext inside = context;
        inside.outer_stages = count;
        for (const Value& e : copy_)
            parse_stage(e, inside);
        for (const StagePtr& stage : stages_)
            stage->simplify_expressions();
        const auto* match = stage_at<MatchStage>(0);
        const bool has_text = match != nullptr && match->has_text();
        const bool refuses = !has_text && context.dialect.has(dialect::kStagesAreChecked);
        has_scores_ = (has_text || refuses) && stages_name_score(copy_);
        if (has_scores_ && refuses)
            base::fail(40218, "query requires text score metadata, but it is not available");
        for (const StagePtr& stage : stages_)
            if (has_scores_) stage->carry_score();
        move_matches_forward();
        connect();
    }

    bool has_scores() const override { return has_scores_; }
    bool has_own_source() const override { return own_source_; }
    bson::Doc leading_match() const override {
        const auto* match = stage_at<MatchStage>(0);
        return match == nullptr || own_source_ ? bson::Doc() : match->filter();
    }
    GeoNearStage* leading_near() const override {
        return stages_.empty() ? nullptr : dynamic_cast<GeoNearStage*>(stages_.front().get());
    }
    void drop_leading_match() override {
        DCHECK(stage_at<MatchStage>(0) != nullptr && !own_source_);
        drop(0);
    }
    const ExpressionParser* expressions() const override {
        return expressions_ ? &*expressions_ : nullptr;
    }

    const std::shared_ptr<const collation::Collator>& collator() const override {
        return collator_;
    }

    bson::Doc leading_sort() const override {
        const auto* sort = stage_at<SortStage>(sort_position());
        return sort == nullptr || own_source_ ? bson::Doc() : sort->pattern();
    }
    void drop_leading_sort() override {
        DCHECK(stage_at<SortStage>(sort_position()) != nullptr && !own_source_);
        // Read while the sort is still there: without it the limit stays a limit.
        drop(sort_position());
    }
    int64_t leading_limit() const override {
        size_t at = sort_position();
        if (stage_at<SortStage>(at) != nullptr) ++at;
        return limit_from(at);
    }

    void order_leading_sort(std::shared_ptr<const SortPattern> pattern) override {
        auto* sort = dynamic_cast<SortStage*>(stages_.at(sort_position()).get());
        if (sort != nullptr) sort->order_by(std::move(pattern));
    }

    const PipelineOutput* output() const override { return output_.get(); }
    int further_levels() const override { return further_levels_; }
    std::vector<bson::Object> describe() const override {
        std::vector<bson::Object> specs;
        for (const StagePtr& stage : stages_)
            specs.push_back(stage->spec());
        return specs;
    }

    void add_needs(Needs& needs) const override {
        Needs own = needs_by_stage().front();
        needs.whole_document |= own.whole_document;
        needs.fields.merge(own.fields);
    }
    bson::Object fields() const override;

    void set_source(DocumentSource source) override {
        DCHECK(!own_source_);
        source_.set([source = std::move(source)](DocumentBatch& batch) {
            if (bson::Doc doc; source && source(&doc)) batch.add(doc);
        });
    }
    void set_source(BatchSource source) override {
        DCHECK(!own_source_);
        source_.set(std::move(source));
    }
    bool next(bson::Doc* out) override { return last_->next(out); }

  private:
    void parse_stage(const Value& e, const PipelineContext& context);
    StagePtr make_stage(std::string_view name, const Value& spec, const PipelineContext& context);
    // Whether the next stage is the first one of a pipeline over a collection.
    bool begins_at_collection(const PipelineContext& context) const {
        return context.reads_collection && stages_.empty() && !own_source_;
    }
    void move_matches_forward();
    std::vector<Needs> needs_by_stage() const;
    void connect();
    void drop(size_t at) {
        DCHECK(at < stages_.size());
        stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(at));
        connect();
    }

    template <typename T>
    const T* stage_at(size_t at) const {
        return at < stages_.size() ? dynamic_cast<const T*>(stages_[at].get()) : nullptr;
    }
    size_t sort_position() const { return stage_at<MatchStage>(0) != nullptr ? 1 : 0; }
    // The documents wanted by a $limit at or (behind $skip) after a position; 0 if there is none.
    int64_t limit_from(size_t at) const {
        int64_t skipped = 0;
        for (; stage_at<SkipStage>(at) != nullptr; ++at) {
            if (__builtin_add_overflow(skipped, stage_at<SkipStage>(at)->skip(), &skipped)) {
                return 0;
            }
        }
        const auto* limit = stage_at<LimitStage>(at);
        int64_t wanted = 0;
        if (limit == nullptr || __builtin_add_overflow(skipped, limit->limit(), &wanted)) return 0;
        return wanted;
    }

    const bool narrows_;
    const std::shared_ptr<const LetVariables> let_;  // has values of context.variables
    const std::shared_ptr<const collation::Collator> collator_;
    bson::Object copy_;
    std::vector<bson::Object> written_;  // stages in the place of others
    std::optional<FilterExpressions> expressions_;
    std::vector<StagePtr> stages_;
    std::vector<StagePtr> between_;  // what it has put between them
    SourceStage source_;
    Stage* last_ = &source_;
    bool own_source_ = false;
    bool has_scores_ = false;
    std::unique_ptr<PipelineOutput> output_;
    int further_levels_ = 0;
};

StagePtr StagedPipeline::make_stage(std::string_view name, const Value& spec,
                                    const PipelineContext& context) {
    if (name == "$match") {
        return make_match(spec, context, begins_at_collection(context));
    }
    if (name == "$project") return make_project(spec, context);
    if (name == "$group") return make_group(spec, context);
    if (name == "$sort") return make_sort(spec, context);
    if (name == "$limit") return make_limit(spec, context);
    if (name == "$skip") return make_skip(spec, context);
    if (name == "$unwind") return make_unwind(spec, context);
    if (name == "$redact") return make_redact(spec, context);
    if (name == "$count") return make_count(spec);
    if (name == "$addFields" || name == "$set") return make_add_fields(spec, context);
    if (name == "$replaceRoot") return make_replace_root(spec, context);
    if (name == "$sample") return make_sample(spec);
    if (name == "$sortByCount") return make_sort_by_count(spec, context);
    if (name == "$facet") return make_facet(spec, context);
    if (context.dialect.has(dialect::kStagesOfToday)) {
        if (name == "$unset") return make_unset(spec);
        if (name == "$replaceWith") return make_replace_with(spec, context);
        if (name == "$bucket") return make_bucket(spec, context);
        if (name == "$bucketAuto") return make_bucket_auto(spec, context);
        if (name == "$setWindowFields") return make_set_window_fields(spec, context);
        if (name == "$densify") return make_densify(spec, context);
    }
    if (context.foreign != nullptr) {
        if (name == "$unionWith") return make_union(spec, context);
        if (name == "$lookup") return make_lookup(spec, context);
        if (name == "$graphLookup") return make_graph_lookup(spec, context);
    }
    if (name == "$geoNear") {
        if (!begins_at_collection(context))
            base::fail(16602, "$geoNear is only valid as the first stage in a pipeline.");
        return std::make_unique<GeoNearStage>(spec, context);
    }
    constexpr std::string_view kSearches[] = {"$listSearchIndexes", "$search", "$searchMeta",
                                              "$vectorSearch"};
    if (context.dialect.has(dialect::kStagesOfToday) &&
        std::ranges::find(kSearches, name) != std::end(kSearches))
        base::fail(31082,
                   "{} needs a search engine beside the server, which this server does not have",
                   name);
    if (name == "$changeStream" && context.dialect.has(dialect::kChangesAreStreamed))
        base::fail(40602, "$changeStream is only valid as the first stage in a pipeline.");
    if (name == "$changeStream")
        base::fail(40573,
                   "$changeStream is for drivers of today (OP_MSG): others can follow the log of "
                   "writes of a set, local.oplog.rs");
    return nullptr;
}

void StagedPipeline::parse_stage(const Value& e, const PipelineContext& context) {
    sched::tick(kTicksPerStage);
    if (!e.is_object())
        base::fail(context.dialect.code(15942, base::kTypeMismatch),
                   "pipeline element {} is not an object", e.name());
    const bson::Doc doc = e.as_doc();
    if (doc.field_count() != 1) {
        base::fail(context.dialect.code(16435, 40323),
                   "A pipeline stage specification object must contain exactly one field.");
    }
    const Value spec = doc.first();
    const std::string_view name = spec.name();
    if (output_ != nullptr)
        base::fail(context.dialect.code(kOutputNotLastOf26, kOutputNotLast),
                   "{} can only be the final stage in the pipeline",
                   output_->merge == nullptr ? "$out" : "$merge");
    if (name == "$out" || (name == "$merge" && context.dialect.has(dialect::kOutputsOfToday))) {
        output_ = make_output(doc, context);
        return;
    }
    if (name == "$fill" && context.dialect.has(dialect::kStagesOfToday)) {
        written_.push_back(fill_stages(spec));
        for (const Value& each : written_.back()["p"].as_doc())
            parse_stage(each, context);
        return;
    }
    StagePtr stage = make_stage(name, spec, context);
    if (stage) {
        stage->set_spec(doc);
        stages_.push_back(std::move(stage));
        return;
    }
    FirstStage first;
    if (name == "$documents" && context.dialect.has(dialect::kStagesOfToday))
        first = [&context](const Value& list) { return make_documents(list, context); };
    else if (context.find_first_stage)
        first = context.find_first_stage(name);
    if (!first)
        base::fail(context.dialect.code(kUnknownStageOf26, kUnknownStage),
                   "Unrecognized pipeline stage name: '{}'", name);
    DocumentSource source = first(spec);
    if (!stages_.empty() || own_source_) {
        base::fail(40602, "{} is only valid as the first stage in a pipeline.", name);
    }
    StagedPipeline::set_source(std::move(source));
    own_source_ = true;
}

// A filter behind a sort gives the same before it, where the sort has less to do and the planner
// sees it.
void StagedPipeline::move_matches_forward() {
    for (size_t i = 1; i < stages_.size(); ++i) {
        for (size_t at = i; at > 0; --at) {
            if (stage_at<MatchStage>(at) == nullptr || stage_at<SortStage>(at - 1) == nullptr) {
                break;
            }
            std::swap(stages_[at], stages_[at - 1]);
        }
    }
}

// Returns for each stage the fields that it and the stages after it read of its input. The results
// are read whole.
std::vector<Needs> StagedPipeline::needs_by_stage() const {
    std::vector<Needs> all(stages_.size() + 1);
    all.back().whole_document = true;
    for (size_t i = stages_.size(); i-- > 0;) {
        Needs& needs = all[i];
        needs = stages_[i]->input_needs(all[i + 1]);
        sched::tick(1 + static_cast<int64_t>(needs.fields.size()));
        if (!narrows_ || needs.fields.size() > kNeedsMax) needs.whole_document = true;
        if (needs.whole_document) needs.fields.clear();
    }
    return all;
}

bson::Object StagedPipeline::fields() const {
    bson::Builder projection;
    const Needs needs = needs_by_stage().front();
    if (!needs.whole_document) {
        for (const sched::String& path : needs.fields)
            if (path != "_id") projection.append(path, 1);
        projection.append("_id", needs.fields.contains("_id") ? 1 : 0);
    }
    return projection.object();
}

void StagedPipeline::connect() {
    Stage* previous = &source_;
    int levels = 0;
    further_levels_ = 0;
    const std::vector<Needs> needs = needs_by_stage();
    source_.narrow(needs.front());
    Needs carried = needs.front();  // what the documents have that come to a stage
    between_.clear();
    for (size_t i = 0; i < stages_.size(); ++i) {
        if (stages_[i]->holds_documents() && !needs[i].whole_document && needs[i] != carried) {
            between_.push_back(make_narrowing_stage(needs[i]));
            between_.back()->set_previous(previous);
            previous = between_.back().get();
            carried = needs[i];
        }
        if (!stages_[i]->passes_documents_on()) {
            carried = Needs();
            carried.whole_document = true;
        }
        stages_[i]->set_previous(previous);
        if (auto* sort = dynamic_cast<SortStage*>(stages_[i].get())) {
            sort->set_limit(limit_from(i + 1));
        }
        previous = stages_[i].get();
        if (stages_[i]->passes_documents_on()) continue;
        levels += levels_of(stages_[i]->spec()) + stages_[i]->further_levels();
        further_levels_ = std::min(levels, kLevelsUnchecked);
        if (levels <= kLevelsUnchecked) continue;
        between_.push_back(std::make_unique<DepthLimit>());
        between_.back()->set_previous(previous);
        previous = between_.back().get();
    }
    if (has_scores_) {
        between_.push_back(std::make_unique<Unscored>());
        between_.back()->set_previous(previous);
        previous = between_.back().get();
    }
    last_ = previous;
}

}  // namespace

std::unique_ptr<Pipeline> Pipeline::parse(bson::Doc stages, const PipelineContext& context) {
    return std::make_unique<StagedPipeline>(stages, context);
}

}  // namespace query
