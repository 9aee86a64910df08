#include "command/pipeline/pipeline_source.h"

#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "sched/compute_slots.h"
#include "sched/work_limit.h"

namespace command {

namespace {

constexpr int kDocumentTooLarge = 10334;

}  // namespace

PipelineSource::PipelineSource(std::shared_ptr<query::Pipeline> stages,
                               std::shared_ptr<ForeignReader> foreign,
                               std::optional<PipelineQuery> query, CollectionLock* lock)
    : stages_(std::move(stages)),
      foreign_(std::move(foreign)),
      query_(std::move(query)),
      lock_(lock) {
    DCHECK(query_.has_value() == (lock_ != nullptr));
    if (!query_) return;
    query_->plan(*lock_);
    has_collection_ = lock_->collection() != nullptr;
    stages_->set_source([this](query::DocumentBatch& batch) { read(batch); });
}

bool PipelineSource::next(bson::Buffer& out) {
    bson::Doc doc;
    if (!next(&doc)) return false;
    if (projection_ == nullptr) {
        out.append(doc.data(), static_cast<size_t>(doc.size()));
        return true;
    }
    const sched::WorkLimit limit(kProjectionWork);
    projection_->apply(doc, nullptr, out);
    return true;
}

bool PipelineSource::next(bson::Doc* doc) {
    if (std::exchange(again_, false)) {
        *doc = last_;
        return true;
    }
    if (done_) return false;
    // Stages that read other collections take locks of their own.
    if (foreign_ != nullptr) save();
    const std::optional<sched::Preemptible> without_lock =
        query_ ? std::optional<sched::Preemptible>(std::in_place) : std::nullopt;
    done_ = !stages_->next(doc);
    if (!done_ && doc->size() > bson::kInternalBytesMax)
        base::fail(kDocumentTooLarge, "a result of {} bytes is too large, at most {}", doc->size(),
                   bson::kInternalBytesMax);
    last_ = *doc;
    return !done_;
}

void PipelineSource::save() {
    if (lock_ == nullptr || executor() == nullptr) return;
    query_->save();
    lock_->release();
}

// The lock is released behind it, also where it fails: then nothing more can be read.
void PipelineSource::read(query::DocumentBatch& batch) {
    DCHECK(query_.has_value() && lock_ != nullptr);
    if (!has_collection_ || query_->all_read()) return;
    try {
        lock_->take();
        query_->fill(batch);
        save();
    } catch (...) {
        query_->drop();
        lock_->release();
        throw;
    }
}

}  // namespace command
