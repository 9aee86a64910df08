#include "query/stage/update_pipeline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/validate.h"
#include "dialect/dialect.h"
#include "query/stage/pipeline.h"
#include "query/update/document_check.h"
#include "query/update/update_base.h"
#include "sched/tick.h"

namespace query {

using bson::Element;

namespace {

// The stages of today's servers, whether there are such here or not.
constexpr std::string_view kStagesOfToday[] = {"$addFields",
                                               "$bucket",
                                               "$bucketAuto",
                                               "$changeStream",
                                               "$changeStreamSplitLargeEvent",
                                               "$collStats",
                                               "$count",
                                               "$currentOp",
                                               "$densify",
                                               "$documents",
                                               "$facet",
                                               "$fill",
                                               "$geoNear",
                                               "$graphLookup",
                                               "$group",
                                               "$indexStats",
                                               "$limit",
                                               "$listLocalSessions",
                                               "$listSampledQueries",
                                               "$listSearchIndexes",
                                               "$listSessions",
                                               "$lookup",
                                               "$match",
                                               "$merge",
                                               "$out",
                                               "$planCacheStats",
                                               "$project",
                                               "$querySettings",
                                               "$queryStats",
                                               "$redact",
                                               "$replaceRoot",
                                               "$replaceWith",
                                               "$sample",
                                               "$search",
                                               "$searchMeta",
                                               "$set",
                                               "$setWindowFields",
                                               "$skip",
                                               "$sort",
                                               "$sortByCount",
                                               "$unionWith",
                                               "$unset",
                                               "$unwind",
                                               "$vectorSearch"};

void check_stages(bson::Doc stages) {
    constexpr std::string_view kAllowed[] = {"$set",     "$addFields",   "$unset",
                                             "$project", "$replaceRoot", "$replaceWith"};
    for (const Element& stage : sched::ticked(stages)) {
        if (!stage.is_object() || stage.as_doc().empty()) continue;  // Pipeline::parse has the text
        const std::string_view name = stage.as_doc().first().name();
        if (std::ranges::find(kAllowed, name) == std::end(kAllowed))
            base::fail(base::kInvalidOptions, "{} is not allowed to be used within an update",
                       name);
    }
}

PipelineContext context_with(std::shared_ptr<const LetVariables> let,
                             std::shared_ptr<const collation::Collator> collator) {
    PipelineContext context;
    context.dialect = dialect::kToday;
    context.collator = std::move(collator);
    if (let != nullptr) context.variables = let->variables();
    context.let = std::move(let);
    return context;
}

class PipelineUpdate : public Update {
  public:
    PipelineUpdate(bson::Doc stages, std::shared_ptr<const LetVariables> let,
                   std::shared_ptr<const collation::Collator> collator)
        : pipeline_(Pipeline::parse(stages, context_with(std::move(let), std::move(collator)))) {
        pipeline_->set_source([this](bson::Doc* out) {
            if (!given_) return false;
            *out = *std::exchange(given_, std::nullopt);
            return true;
        });
    }

    bool needs_details() const override { return false; }

    UpdateResult apply(bson::Doc old, const MatchDetails&, bson::Buffer& out) override {
        const bson::Doc made = made_of(old);
        const Element id = old["_id"];
        const Element wanted = made["_id"];
        if (wanted) check_same_id(id, wanted);
        const size_t start = out.size();
        if (id)
            write_with_id_first(made, id, out);
        else
            out.append(made.data(), static_cast<size_t>(made.size()));
        const bson::Doc now(out.data() + start);
        check(now);
        UpdateResult result;
        result.changed = !std::ranges::equal(now.bytes(), old.bytes());
        result.whole = result.computed = result.changed;
        if (!result.changed) out.truncate(start);
        return result;
    }

    void build_upsert(const Matcher& query, bson::Buffer& out) override {
        const UpsertBase base(query, dialect::kToday);
        const bson::Doc made = made_of(base.doc());
        Element id = made["_id"];
        if (const Element before = base.doc()["_id"]) {
            if (id) check_same_id(before, id);
            id = before;
        }
        check_id_type(id);
        if (id.is_object()) check_stored_names(id.as_doc(), false, 2, names_in_id(dialect::kToday));
        const size_t start = out.size();
        write_with_id_first(made, id, out);
        check(bson::Doc(out.data() + start));
    }

  private:
    // Until the next call.
    bson::Doc made_of(bson::Doc doc) {
        given_ = doc;
        bson::Doc made;
        pipeline_->next(&made);  // each stage gives one
        DCHECK(!given_);
        return made;
    }
    static void check(bson::Doc now) {
        check_size(now);
        bson::check_depth(now, "the updated document");
    }

    const std::unique_ptr<Pipeline> pipeline_;
    std::optional<bson::Doc> given_;  // and not yet taken
};

}  // namespace

void check_stage_names(bson::Doc stages) {
    for (const Element& stage : sched::ticked(stages)) {
        if (!stage.is_object() || stage.as_doc().field_count() != 1) continue;
        const std::string_view name = stage.as_doc().first().name();
        if (std::ranges::find(kStagesOfToday, name) == std::end(kStagesOfToday))
            base::fail(40324, "Unrecognized pipeline stage name: '{}'", name);
    }
}

std::unique_ptr<Update> parse_update(bson::Doc update, bool is_pipeline,
                                     const Update::Options& options,
                                     std::shared_ptr<const LetVariables> let) {
    if (!is_pipeline) return Update::parse(update, options);
    if (options.array_filters)
        base::fail(base::kFailedToParse,
                   "arrayFilters may not be specified for pipeline-style updates");
    check_stage_names(update);
    check_stages(update);
    return std::make_unique<PipelineUpdate>(update, std::move(let), options.collator);
}

}  // namespace query
