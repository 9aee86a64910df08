// command/long_update.h - what an update makes of a document. Where that takes long, others have
// the lock meanwhile: it is computed from a copy, and holds if the document is still the same.
#pragma once

#include <algorithm>

#include "base/operation.h"
#include "bson/builder.h"
#include "command/locks.h"
#include "query/match/match_tree.h"
#include "query/update/update.h"

namespace command {

// Gives a lock up for a moment, if others wait for it, in the midst of work that looks at nothing
// that the lock guards.
class LockBreak final : public base::Operation::Pause {
  public:
    // `executor`: saved before the lock goes; null: it has been, or there is none.
    LockBreak(CollectionLock& lock, query::Executor* executor) : lock_(lock), executor_(executor) {}
    void pause() override;
    bool taken() const { return taken_; }

  private:
    CollectionLock& lock_;
    query::Executor* executor_;
    bool taken_ = false;
};

// Whether a record is there and has this document: what somebody has found may have been changed or
// removed while others had the lock.
bool is_still(const CollectionLock& lock, storage::RecordId id, bson::Doc doc);

// For how long an update keeps the lock. Where others keep changing what it works on, so that its
// work is in vain, it gets longer: else it might never end.
class Patience {
  public:
    int slices() const { return slices_; }
    bool is_tried() const { return slices_ > 1; }
    base::Operation::Clock::duration time() const { return slices_ * base::Operation::kSlice; }
    void grow() { slices_ = std::min(2 * slices_, kMostSlices); }

  private:
    static constexpr int kMostSlices = 64;
    int slices_ = 1;  // Operation::kSlice
};

// A record's document and what becomes of it.
struct PlannedUpdate {
    bson::Doc before;
    query::UpdateResult result;
};

// Computes what `update` makes of a record (exclusive lock held); a new document is written to
// `out`. `executor` has found the record and is saved where the lock is given up; null: it has been
// saved, or there is none. False: others have changed or removed the document meanwhile, or dropped
// its collection. With `filter` a changed one that still matches is taken as it is now.
bool plan_update(CollectionLock& lock, query::Executor* executor, const query::Matcher* filter,
                 query::Update& update, storage::RecordId id, query::MatchDetails& details,
                 bson::Buffer& out, Patience& patience, PlannedUpdate* planned);

// Writes what an upsert makes of a query to `out`. False: others have had the lock meanwhile, and
// there may be a match now.
bool build_upsert(CollectionLock& lock, query::Executor& executor, query::Update& update,
                  bson::Buffer& out);

}  // namespace command
