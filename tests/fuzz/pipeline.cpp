// Fuzz target: {pipeline: [...]} as the command has it, and the documents of the collection.
#include "query/aggregation/pipeline.h"

#include "mutator.h"
#include "query/aggregation/foreign.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    static constexpr const char* kWords[] = {"pipeline",
                                             "overMsg",
                                             "$match",
                                             "$project",
                                             "$redact",
                                             "$limit",
                                             "$skip",
                                             "$unwind",
                                             "$group",
                                             "$sort",
                                             "$out",
                                             "$count",
                                             "$addFields",
                                             "$set",
                                             "$replaceRoot",
                                             "$sample",
                                             "$sortByCount",
                                             "$facet",
                                             "$geoNear",
                                             "$lookup",
                                             "$graphLookup",
                                             "from",
                                             "localField",
                                             "foreignField",
                                             "let",
                                             "pipeline",
                                             "startWith",
                                             "connectFromField",
                                             "connectToField",
                                             "maxDepth",
                                             "depthField",
                                             "restrictSearchWithMatch",
                                             "$expr",
                                             "path",
                                             "includeArrayIndex",
                                             "preserveNullAndEmptyArrays",
                                             "newRoot",
                                             "size",
                                             "$sum",
                                             "$avg",
                                             "$min",
                                             "$max",
                                             "$first",
                                             "$last",
                                             "$push",
                                             "$addToSet",
                                             "$add",
                                             "$subtract",
                                             "$multiply",
                                             "$divide",
                                             "$mod",
                                             "$and",
                                             "$or",
                                             "$not",
                                             "$cmp",
                                             "$eq",
                                             "$ne",
                                             "$gt",
                                             "$gte",
                                             "$lt",
                                             "$lte",
                                             "$cond",
                                             "if",
                                             "then",
                                             "else",
                                             "$ifNull",
                                             "$concat",
                                             "$substr",
                                             "$toLower",
                                             "$toUpper",
                                             "$strcasecmp",
                                             "$year",
                                             "$month",
                                             "$dayOfMonth",
                                             "$hour",
                                             "$minute",
                                             "$second",
                                             "$millisecond",
                                             "$dayOfYear",
                                             "$dayOfWeek",
                                             "$week",
                                             "$dateToString",
                                             "format",
                                             "date",
                                             "$setUnion",
                                             "$setEquals",
                                             "$setIntersection",
                                             "$setDifference",
                                             "$setIsSubset",
                                             "$anyElementTrue",
                                             "$allElementsTrue",
                                             "$size",
                                             "$map",
                                             "input",
                                             "as",
                                             "in",
                                             "$let",
                                             "vars",
                                             "$literal",
                                             "$meta",
                                             "$const",
                                             "_id"};
    return kWords;
}

namespace {

constexpr int kResultsMax = 2000;

// Every other collection has the same documents.
class Collections : public query::ForeignCollections {
  public:
    explicit Collections(std::span<const bson::Object> input) : input_(input) {}
    void connect(std::string_view, query::Pipeline& stages) override {
        stages.set_source([this, at = size_t{0}](bson::Doc* out) mutable {
            if (at == input_.size()) return false;
            *out = input_[at++];
            return true;
        });
    }

  private:
    const std::span<const bson::Object> input_;
};

void run(bson::Doc request, bson::Doc stages, std::span<const bson::Object> input) {
    query::PipelineContext context;
    context.allow_disk_use = request["allowDiskUse"].truthy();
    context.over_msg = request["overMsg"].truthy();
    if (context.over_msg) context.foreign = std::make_shared<Collections>(input);
    const auto pipeline = query::Pipeline::parse(stages, context);
    for (const bson::Object& stage : pipeline->describe())
        fuzz::expect_document(stage.bytes(), "a stage is shown as a valid document");
    pipeline->leading_match();
    pipeline->leading_sort();
    pipeline->leading_limit();
    size_t at = 0;
    pipeline->set_source([&](bson::Doc* out) {
        if (at == input.size()) return false;
        *out = input[at++];
        return true;
    });
    bson::Doc doc;
    for (int results = 0; results < kResultsMax && pipeline->next(&doc); ++results)
        fuzz::expect_document(doc.bytes(), "a result is valid");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<bson::Object> documents = fuzz::documents(data, size);
    if (documents.empty()) return fuzz::kNoInput;
    const bson::Element stages = documents[0]["pipeline"];
    if (!stages.is_array()) return fuzz::kNoInput;
    fuzz::as_operation(
        [&] { run(documents[0], stages.as_doc(), std::span(documents).subspan(1)); });
    return fuzz::kTaken;
}
