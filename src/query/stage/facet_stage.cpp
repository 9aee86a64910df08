// $facet, later than 2.6: several pipelines over the same documents, each into an array of its own.

#include "base/dcheck.h"
#include "base/error.h"
#include "query/stage/output.h"
#include "query/stage/pipeline.h"
#include "query/stage/stage.h"
#include "sched/tick.h"
#include "spill/run.h"

namespace query {

namespace {

class Facet : public Stage {
  public:
    Facet(bson::Doc spec, const PipelineContext& outer)
        : allow_disk_use_(outer.allow_disk_use),
          folder_(outer.scratch_directory, spill::Folder::Use::operation) {
        PipelineContext inner = outer;
        inner.find_first_stage = {};
        inner.reads_collection = false;
        for (const Value& e : spec) {
            check_stages(e, outer);
            facets_.emplace_back(e.name(), Pipeline::parse(e.as_doc(), inner));
        }
    }

    bool next(bson::Doc* out) override {
        if (done_) return false;
        done_ = true;
        load();
        bson::Builder b;
        for (auto& [name, pipeline] : facets_) {
            append_results(b, name, *pipeline);
            pipeline.reset();  // with what it holds
        }
        result_ = b.object();
        *out = result_;
        return true;
    }

    void add_needs(Needs& needs) const override {
        DCHECK(!done_);  // next() lets the pipelines go
        for (const auto& [name, pipeline] : facets_)
            pipeline->add_needs(needs);
    }
    bool holds_documents() const override { return true; }

  private:
    static void check_stages(const Value& facet, const PipelineContext& outer) {
        const std::string_view name = facet.name();
        if (!is_field_name(name))
            base::fail(name.find('.') == std::string_view::npos ? 16410 : 16412,
                       "the $facet field '{}' must be a name without '$' and '.'", name);
        if (!facet.is_array())
            base::fail(40170, "arguments to $facet must be arrays, {} is type {}", name,
                       type_name(facet.type()));
        for (const Value& stage : facet.as_doc()) {
            const std::string_view kind =
                stage.is_object() ? stage.as_doc().first().name() : std::string_view();
            const bool starts_pipelines = outer.find_first_stage && outer.find_first_stage(kind);
            if (kind == "$facet" || kind == "$documents" || kind == "$geoNear" ||
                is_output_stage(kind) || starts_pipelines)
                base::fail(40600, "{} is not allowed to be used within a $facet stage", kind);
        }
    }

    void load() {
        bson::Doc doc;
        int64_t bytes = 0;
        while (previous_->next(&doc)) {
            if (rest_ == nullptr && allow_disk_use_ &&
                spill::is_full(bytes + doc.size(), kStageSpillBytes))
                rest_ = std::make_unique<spill::Run>(folder_);
            if (rest_ != nullptr) {
                rest_->append(doc.bytes());
                continue;
            }
            input_.emplace_back(doc);
            bytes += doc.size();
            if (bytes > kStageMemoryBytes && !allow_disk_use_)
                base::fail(16820, "$facet exceeded memory limit of {} bytes", kStageMemoryBytes);
        }
    }

    void append_results(bson::Builder& out, const std::string& name, Pipeline& pipeline) {
        size_t position = 0;
        if (rest_ != nullptr) rest_->rewind();
        pipeline.set_source([this, &position](bson::Doc* doc) {
            sched::tick();
            if (position < input_.size()) {
                *doc = input_[position++];
                return true;
            }
            if (rest_ == nullptr || !rest_->advance()) return false;
            *doc = bson::Doc(rest_->entry().data());
            return true;
        });
        bson::Builder results = out.sub_array(name);
        bson::Doc doc;
        while (pipeline.next(&doc)) {
            sched::tick();
            result_bytes_ += doc.size();
            if (result_bytes_ > kPipelineDocumentBytes)
                base::fail(10334, "the document that $facet makes is larger than {} bytes",
                           kPipelineDocumentBytes);
            results.append(results.next().view(), doc);
        }
    }

    const bool allow_disk_use_;
    spill::Folder folder_;
    std::vector<std::pair<std::string, std::unique_ptr<Pipeline>>> facets_;
    bool done_ = false;
    sched::Vector<bson::Object> input_;
    std::unique_ptr<spill::Run> rest_;  // of the input; null: all is in memory
    int64_t result_bytes_ = 0;
    bson::Object result_;
};

}  // namespace

StagePtr make_facet(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object() || spec.as_doc().empty())
        base::fail(40169, "the $facet specification must be a non-empty object");
    return std::make_unique<Facet>(spec.as_doc(), context);
}

}  // namespace query
