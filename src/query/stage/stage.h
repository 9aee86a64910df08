// query/stage/stage.h - the stages of a pipeline, each pulling from the one before it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "query/expression/expression.h"
#include "query/expression/pipeline_context.h"
#include "query/value/value.h"
#include "spill/sorted_runs.h"

namespace query {

class SortPattern;

class Stage {
  public:
    virtual ~Stage() = default;
    // The next document, valid until the next call; false at the end. Throws base::Error.
    virtual bool next(bson::Doc* out) = 0;
    // Adds the fields this stage reads.
    virtual void add_needs(Needs& needs) const = 0;
    // Returns the fields that its input has to have, if `later` is what the stages after it need.
    // Every other field may be there or not, and the results are the same.
    virtual Needs input_needs(Needs later) const {
        if (!passes_documents_on()) later = Needs();
        add_needs(later);
        return later;
    }
    // Computes the constant parts of expressions, once all stages are parsed.
    virtual void simplify_expressions() {}
    // Hands its input on as it is, as a choice or in another order.
    virtual bool passes_documents_on() const { return false; }
    // Its results get the score of a text search (kScoreField) from its input.
    virtual void carry_score() {}
    // Has many of them in memory, or on the disk.
    virtual bool holds_documents() const { return false; }
    // How many levels its results may be deeper than its specification and its input are.
    virtual int further_levels() const { return 0; }

    void set_previous(Stage* previous) { previous_ = previous; }
    // The specification, as {$name: ...}.
    void set_spec(bson::Doc spec) { spec_ = bson::Object(spec); }
    const bson::Object& spec() const { return spec_; }

  protected:
    Stage* previous_ = nullptr;

  private:
    bson::Object spec_;
};
using StagePtr = std::unique_ptr<Stage>;

// Levels of nesting that the stages of a pipeline may add, all together, before their results are
// examined.
constexpr int kLevelsUnchecked = 256;

// The limit for documents between stages; the caller limits the documents at the end.
constexpr int32_t kPipelineDocumentBytes = 64 * 1024 * 1024;
// Throws base::Error 10334 for a document of a stage that is larger.
void check_document_bytes(bson::Doc doc);

// Makers by stage name; each throws the codes of its stage (semantics 4).
// takes_text: it is the first stage, so that a query can do it.
StagePtr make_match(const Value& spec, const PipelineContext& context, bool takes_text);
StagePtr make_project(const Value& spec, const PipelineContext& context);
StagePtr make_redact(const Value& spec, const PipelineContext& context);
StagePtr make_limit(const Value& spec, const PipelineContext& context);
StagePtr make_skip(const Value& spec, const PipelineContext& context);
StagePtr make_unwind(const Value& spec, const PipelineContext& context);
StagePtr make_group(const Value& spec, const PipelineContext& context);
// A $group whose `_id` is computed by what `parse_id` makes; `fields` are the others.
StagePtr make_group_by(bson::Doc fields, const PipelineContext& context,
                       const std::function<ExpressionPtr(Names&)>& parse_id);
StagePtr make_sort(const Value& spec, const PipelineContext& context);
// Later than 2.6.
StagePtr make_count(const Value& spec);
StagePtr make_add_fields(const Value& spec, const PipelineContext& context);
// $project that takes fields away; null where `spec` is no such one.
StagePtr make_exclusion(bson::Doc spec);
StagePtr make_unset(const Value& spec);
StagePtr make_replace_root(const Value& spec, const PipelineContext& context);
StagePtr make_replace_with(const Value& spec, const PipelineContext& context);
StagePtr make_bucket(const Value& spec, const PipelineContext& context);
StagePtr make_bucket_auto(const Value& spec, const PipelineContext& context);
StagePtr make_union(const Value& spec, const PipelineContext& context);
StagePtr make_set_window_fields(const Value& spec, const PipelineContext& context);
StagePtr make_densify(const Value& spec, const PipelineContext& context);
// Returns the stages that do what $fill asks for, {p: [...]}.
bson::Object fill_stages(const Value& spec);
StagePtr make_sample(const Value& spec);
StagePtr make_sort_by_count(const Value& spec, const PipelineContext& context);
StagePtr make_facet(const Value& spec, const PipelineContext& context);
StagePtr make_lookup(const Value& spec, const PipelineContext& context);
StagePtr make_graph_lookup(const Value& spec, const PipelineContext& context);
// The source of a pipeline that begins with $documents. Throws base::Error 5858203 with the first
// document if it is asked for others than an array of documents.
DocumentSource make_documents(const Value& spec, const PipelineContext& context);

// Whether a result may have a field of this name: not empty, no path, no operator, no NUL.
bool is_field_name(std::string_view name);

// $match: passes what matches.
class MatchStage : public Stage {
  public:
    MatchStage(bson::Doc filter, const PipelineContext& context, bool takes_text);
    ~MatchStage() override;
    bool next(bson::Doc* out) override;
    void add_needs(Needs& needs) const override;
    bool passes_documents_on() const override { return true; }
    bson::Doc filter() const;
    bool has_text() const;

  private:
    std::unique_ptr<class Matcher> matcher_;
};

class LimitStage : public Stage {
  public:
    explicit LimitStage(int64_t limit) : limit_(limit), left_(limit) {}
    bool next(bson::Doc* out) override;
    void add_needs(Needs&) const override {}
    bool passes_documents_on() const override { return true; }
    int64_t limit() const { return limit_; }

  private:
    int64_t limit_;
    int64_t left_;
};

class SkipStage : public Stage {
  public:
    explicit SkipStage(int64_t skip) : skip_(skip), left_(skip) {}
    bool next(bson::Doc* out) override;
    void add_needs(Needs&) const override {}
    bool passes_documents_on() const override { return true; }
    int64_t skip() const { return skip_; }

  private:
    int64_t skip_;
    int64_t left_;
};

// A stage writes out what it holds beyond this if disk use is allowed, or earlier if the operation
// has little memory left.
constexpr int64_t kStageSpillBytes = 24 * 1024 * 1024;

// $sort; stable. With a limit only so many documents are kept. Orders by whole values, or as find
// does (PipelineContext::dialect).
class SortStage : public Stage {
  public:
    SortStage(bson::Doc spec, const PipelineContext& context);
    ~SortStage() override;
    bool next(bson::Doc* out) override;
    void add_needs(Needs& needs) const override;
    bool passes_documents_on() const override { return true; }
    bool holds_documents() const override { return true; }
    bson::Doc pattern() const { return pattern_; }
    void set_limit(int64_t limit) { limit_ = limit; }
    // Orders as find does: `pattern` has the same fields.
    void order_by(std::shared_ptr<const SortPattern> pattern);

  private:
    // The fields that are sorted by, as paths, with their directions.
    using Fields = std::vector<std::pair<std::vector<std::string>, int>>;
    // A document with its sort key.
    struct Keyed {
        bson::Doc doc;
        sched::Vector<Value> keys;  // in the document, behind it, or in `made`
        Arena made;
    };
    // The order of runs: an entry is the keys, as elements without names (of a missing one only its
    // type), and the document as its tail.
    struct Order {
        using Item = Keyed;
        void read(std::span<const uint8_t> entry, Keyed& item) const;
        bool before(const Keyed& a, const Keyed& b) const;

        const Fields* fields = nullptr;
        bool as_find = false;  // the keys are as SortPattern makes them
        const collation::Collator* collator = nullptr;
    };
    struct Entry {
        sched::Bytes bytes;
        Keyed keyed;
    };
    Order order() const { return {&fields_, as_find_ != nullptr, collator_.get()}; }
    void load();
    void collect();
    Entry copy(bson::Doc doc);
    [[noreturn]] void fail_memory() const;
    int64_t bytes_of(bson::Doc doc) const;
    void sort_held();
    bool is_full(int64_t more) const;
    void shrink(int64_t more);
    void spill();

    bson::Object pattern_;
    Fields fields_;
    std::shared_ptr<const SortPattern> as_find_;  // null: whole values are compared
    bson::Buffer find_key_;
    const bool allow_disk_use_;
    const std::shared_ptr<const collation::Collator> collator_;
    int64_t limit_ = 0;
    bool loaded_ = false;
    int64_t handed_out_ = 0;
    int64_t bytes_ = 0;
    sched::Vector<Entry> entries_;
    spill::SortedRuns<Order> runs_;
};

}  // namespace query
