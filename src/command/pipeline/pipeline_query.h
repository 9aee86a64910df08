// command/pipeline/pipeline_query.h - the query by which a pipeline reads a collection.
#pragma once

#include <cstdint>
#include <memory>

#include "bson/builder.h"
#include "command/context/locks.h"
#include "query/plan/executor.h"
#include "query/stage/pipeline.h"

namespace command {

class PipelineQuery {
  public:
    // Parses the query, before a lock is taken, since that may take long. The `stages` outlive it.
    PipelineQuery(query::Pipeline& stages, const bson::Element& hint);

    // Plans the query under the lock: the stages lose what the query does better, which is the
    // first filter, and the first sort where an index gives the order.
    void plan(CollectionLock& lock);
    // Reads, under a lock, some documents for the stages, no more than they want if that is known;
    // none at the end. A batch ends after a slice of time, about, so that what ends early has not
    // read much for nothing.
    void fill(query::DocumentBatch& batch);
    // Saves the query before the lock is given up; fill() restores it.
    void save();
    // Drops a query that has failed, still under the lock: nothing more can be read.
    void drop() { executor_.reset(); }
    // Sets the lock under which fill() is called; null: none for now.
    void set_lock(CollectionLock* lock) {
        if (executor_) executor_->set_yield_point(lock);
    }

    bool all_read() const { return all_read_; }
    const query::Executor* executor() const { return executor_.get(); }
    // The filter and the order that the query took over from the stages.
    bson::Doc match() const { return match_; }
    bson::Doc sort() const { return sort_; }

  private:
    void plan_near(CollectionLock& lock, const query::ExecutorOptions& options);

    query::Pipeline& stages_;
    query::GeoNearStage* const near_;  // of the stages; null: they do not begin with one
    bson::Buffer with_distance_;
    bson::Object match_;
    bson::Object sort_;
    query::FindQuery find_;  // until it is planned
    std::unique_ptr<query::Executor> executor_;
    bool saved_ = false;
    int64_t limit_ = 0;  // of the documents that are read; 0: none
    int64_t read_ = 0;
    bool all_read_ = false;
    bson::Buffer scored_;
};

}  // namespace command
