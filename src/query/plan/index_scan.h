// query/plan/index_scan.h - walking the part of an index that a plan's bounds name, jumping over
// what lies between.
#pragma once

#include <memory>
#include <vector>

#include "query/plan/plan.h"

namespace query {

class IndexScan {
  public:
    // The plan must outlive the scan.
    explicit IndexScan(const ScanPlan& plan);

    // Moves to the next key inside the bounds; false at the end. The first call goes to the first
    // one.
    bool next();
    // Between two keys inside the bounds there may be millions that the scan jumps over. If it may
    // yield, next() is also false where the operation's slice of time (sched/tick.h) is over
    // before one was found; wants_yield() then, and next() goes on.
    void let_yield() { may_yield_ = true; }
    bool wants_yield() const { return wants_yield_; }
    bool done() const { return done_; }
    void stop() { done_ = true; }
    // Goes on as next() does, behind all keys with the present value of the first field. From 2^53
    // on, where that value may equal others that differ, some keys with the same one may still
    // come.
    bool next_value();
    bson::Doc key() { return cursor_->key(); }
    storage::RecordId id() const { return cursor_->id(); }

    // The key that the last next() went to comes again, or, if it was removed, the one after it.
    // REQUIRES: that next() returned true.
    void step_back();
    // The next key becomes the place that save() keeps: behind the one that was given a document
    // that moves may get a key, and would come again.
    void step_ahead();

    // Keys examined so far, including those that made the scan jump. A range by min and max counts
    // the one that it begins at twice, as the old server did.
    int64_t examined() const { return examined_; }
    // How it came to its end.
    enum class End {
        none,
        at_key,    // the key there is behind the bounds
        at_index,  // there is no key behind the last one given
        by_jump    // nor where a jump led to
    };
    End end() const { return end_; }
    // Makes examined() what the old server would have counted: it stood on the next key already
    // when it returned one. The scan is of no use afterwards.
    void examine_ahead();

    void save();
    void restore();

    const ScanPlan& plan() const { return plan_; }

  private:
    enum class Verdict { inside, jump, past_end };
    bool settle();
    Verdict check(bson::Doc key);
    Verdict jump(bson::Doc key, size_t field, size_t interval);
    bool check_range(bson::Doc key) const;
    void seek_first();
    // Builds the seek key: the first `prefix` values of `key`, then the low ends from field
    // `prefix` on, beginning with interval `interval` there. It ends behind the first number from
    // 2^53 on: behind equal numbers that differ, the fields that follow have no order. If `key` has
    // one, the scan steps.
    void seek_to(bson::Doc key, size_t prefix, size_t interval);
    // Whether a seek key is further on than the last one. Only such a jump is sure to lead forward
    // where int64s and doubles beyond 2^53 mix and keys have no order; else the scan steps.
    bool beyond_last_target(bson::Doc target, bool past) const;
    int direction(size_t field) const { return (descending_ >> field & 1) != 0 ? -1 : 1; }

    const ScanPlan& plan_;
    const uint32_t descending_;  // bit i: field i runs downwards in scan order
    ValueArena arena_;
    IndexBounds wider_bounds_;
    const IndexBounds& bounds_;  // the plan's or wider_bounds_
    std::unique_ptr<storage::IndexCursor> cursor_;
    bool started_ = false;
    bool done_ = false;
    bool may_yield_ = false;
    bool wants_yield_ = false;  // the key that the cursor stands on has not been looked at
    // The cursor stands on what next() will give: the saved entry has gone, or is wanted again.
    bool restored_on_next_ = false;
    bool simple_ = false;  // points, then one interval, then everything: only the end needs a look
    int64_t examined_ = 0;
    End end_ = End::none;
    bson::Buffer seek_key_;
    std::vector<uint8_t> last_target_;  // the last key that was looked up
    bool last_target_past_ = false;     // behind all keys that begin with it, not at the first
};

}  // namespace query
