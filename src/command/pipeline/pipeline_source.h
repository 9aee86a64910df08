// command/pipeline/pipeline_source.h - a pipeline over a collection as the source of a cursor.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/dcheck.h"
#include "command/cursor/cursors.h"
#include "command/pipeline/foreign_reader.h"
#include "command/pipeline/pipeline_query.h"
#include "query/plan/query.h"

namespace command {

// A pipeline with the query that feeds it. The query reads under the lock, some documents at a
// time; the stages need none.
class PipelineSource final : public CursorSource {
  public:
    // The stages bring their own documents, or there are query and lock. `foreign`: null if they
    // read no other collection.
    PipelineSource(std::shared_ptr<query::Pipeline> stages, std::shared_ptr<ForeignReader> foreign,
                   std::optional<PipelineQuery> query, CollectionLock* lock);

    // A document as `projection` shows it, if there is one.
    bool next(bson::Buffer& out) override;
    void set_projection(std::unique_ptr<query::Projection> projection) {
        projection_ = std::move(projection);
    }
    // Valid until the next call.
    bool next(bson::Doc* doc);
    bool put_back() override { return again_ = true; }
    bool at_end() const override { return done_; }
    // Gives the lock up until more is read.
    void save() override;
    void restore() override {
        DCHECK(lock_ != nullptr);
        lock_->release();
    }
    void set_lock(CollectionLock* lock) override {
        lock_ = lock;
        if (query_) query_->set_lock(lock);
    }
    void set_context(OperationContext& context) override {
        if (foreign_ != nullptr) foreign_->set_context(context);
    }
    bool reads_collections() const override { return executor() != nullptr; }

    const query::Pipeline& stages() const { return *stages_; }
    const query::Executor* executor() const override {
        return query_ ? query_->executor() : nullptr;
    }
    const PipelineQuery& query() const { return *query_; }

  private:
    void read(query::DocumentBatch& batch);

    std::shared_ptr<query::Pipeline> stages_;  // reads from query_
    const std::shared_ptr<ForeignReader> foreign_;
    std::optional<PipelineQuery> query_;
    std::unique_ptr<query::Projection> projection_;
    CollectionLock* lock_;  // null: between two requests
    bool has_collection_ = false;
    bson::Doc last_;
    bool again_ = false;  // it comes again
    bool done_ = false;
};

}  // namespace command
