// query/expression/pipeline_context.h - what pipelines and their stages are given from outside:
// documents, a folder for what memory cannot hold, stages that this room does not know.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bson/view.h"
#include "collation/collator.h"
#include "dialect/dialect.h"
#include "query/expression/let_variables.h"

namespace query {

// Gives the next document, valid until the next call; false at the end.
using DocumentSource = std::function<bool(bson::Doc*)>;

// Documents read ahead, with what the stages read of them.
class DocumentBatch {
  public:
    virtual ~DocumentBatch() = default;
    virtual void add(bson::Doc doc) = 0;
    virtual size_t bytes() const = 0;
};
// Fills an empty batch; adds none at the end.
using BatchSource = std::function<void(DocumentBatch&)>;

// Makes the documents that a stage asks for; empty: there is no such stage.
using FirstStage = std::function<DocumentSource(const bson::Element& spec)>;

class ForeignCollections;

struct PipelineContext {
    // $group, $sort, $sortByCount and $facet then write what they cannot hold to files in
    // `scratch_directory` (spill/run.h); results and their order are the same. Without it they
    // throw base::Error 16945, 16819 and 16820 above kStageMemoryBytes.
    bool allow_disk_use = false;
    std::string scratch_directory;  // empty: the system's
    // Sent by OP_MSG: $sort then orders as find does, which is the order of indexes. Otherwise it
    // compares whole values, as the old server did where no index gave the order (semantics 4).
    // $match knows $expr then, and its errors have the codes of their causes.
    dialect::Dialect dialect = dialect::kV26;
    // Fields that no later stage reads are not carried along. False only to compare: the results
    // are the same.
    bool narrows = true;
    // It begins at a collection, whose indexes answer a $geoNear and a $text that come first.
    bool reads_collection = false;
    // Called for a stage that this room does not know, e.g. $collStats: gives the function that
    // makes the documents the stage starts the pipeline with, or nothing if the command layer does
    // not know it either (error 16436, by OP_MSG 40324). Such a stage has to be the first one
    // (error 40602), and not in a $facet (error 40600). May be empty.
    std::function<FirstStage(std::string_view stage)> find_first_stage;
    // The collections that $lookup and $graphLookup read. Null: there are no such stages (error
    // 16436).
    std::shared_ptr<ForeignCollections> foreign;
    // The order of texts, everywhere in the pipeline and in those inside of it, which keep it.
    // Null: by their bytes.
    std::shared_ptr<const collation::Collator> collator;
    // Variables for expressions, whose values outlive the pipeline.
    OuterVariables variables;
    // The owner of the variables if they are those of a command: the pipeline keeps it.
    std::shared_ptr<const LetVariables> let;
    // How many pipelines there are around this one, and how many stages these have together.
    int outer_pipelines = 0;
    int outer_stages = 0;
};

constexpr int64_t kStageMemoryBytes = 100 * 1024 * 1024;

}  // namespace query
