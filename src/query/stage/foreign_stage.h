// query/stage/foreign_stage.h - what $lookup and $graphLookup share.
#pragma once

#include <string>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "query/stage/computing_stage.h"
#include "query/stage/foreign.h"

namespace query {

// A stage that adds to each document what it finds for it in another collection, as an array.
class ForeignStage : public Computing {
  public:
    bool next(bson::Doc* out) final {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        DCHECK(!as_.empty());
        found_.trim(kKeptBytes);
        const size_t holder = open_doc(found_);
        write_header(found_, bson::Type::array, "");
        const size_t list = open_doc(found_);
        count_ = 0;
        find(doc);
        check_found();
        close_doc(found_, list);
        close_doc(found_, holder);
        out_.trim(kKeptBytes);
        write_with(doc, as_, bson::Doc(found_.data()).first(), out_);
        *out = bson::Doc(out_.data());
        check_document_bytes(*out);
        return true;
    }
    Needs input_needs(Needs later) const final {
        add_needs(later);
        // Whether it is a document shows in what becomes of it.
        if (as_.size() > 1) later.fields.emplace(as_.front());
        return later;
    }
    int further_levels() const override { return static_cast<int>(as_.size()) + 1; }

  protected:
    explicit ForeignStage(const PipelineContext& outer) : inner_(sub_pipeline_context(outer)) {
        DCHECK(inner_.foreign != nullptr);
    }

    // Adds all that there is for a document.
    virtual void find(bson::Doc doc) = 0;
    // The header of another element of the result, which is a document; appended to found_ next.
    void begin_element() {
        check_found();
        write_header(found_, bson::Type::object, bson::IndexName(count_++).view());
    }
    void add_element(bson::Doc doc) {
        begin_element();
        found_.append(doc.data(), static_cast<size_t>(doc.size()));
    }

    std::string from_;
    std::vector<std::string> as_;
    PipelineContext inner_;  // of the pipelines that read `from_`
    bson::Buffer found_;

  private:
    // How much of the memory for one document is kept for the next one.
    static constexpr size_t kKeptBytes = size_t{1} << 20;

    void check_found() const {
        if (found_.size() > kPipelineDocumentBytes)
            base::fail(base::kLocation4568,
                       "the documents of {} for one document are larger than {} bytes together",
                       from_, kPipelineDocumentBytes);
    }

    uint32_t count_ = 0;
};

}  // namespace query
