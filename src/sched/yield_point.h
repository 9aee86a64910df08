// sched/yield_point.h - how long work yields: between two of its units it releases what others wait
// for, and takes it again.
//
// A unit is a document, a key of an index, a step of a plan. Inside one there is no yield, but a
// limit (sched/work_limit.h). A step that may pass over millions of keys ends early where
// slice_over() says so, as an unfinished one (query/plan/index_scan.h): the loop around it is due
// then, and is the only one that yields.
#pragma once

#include <cstdint>

#include "sched/operation.h"
#include "sched/tick.h"

namespace sched {

// An object that is released and taken again; implemented around a lock.
class YieldPoint {
  public:
    virtual ~YieldPoint() = default;
    // Whether others wait for it. Throws what Operation::check() does.
    virtual bool should_yield() = 0;
    // Releases it and takes it again. Returns false when what the work goes through (a collection,
    // an index) has gone.
    virtual bool yield() = 0;
};

// A loop of long work:
//
//     sched::LongLoop loop(point);
//     while (...) {
//         if (loop.is_due() && !loop.yield([&] { cursor.save(); }, [&] { cursor.restore(); }))
//             ...  // it has gone
//         ...
//     }
class LongLoop {
  public:
    // `point` may be null: no other operation waits, but this one may have to end.
    explicit LongLoop(YieldPoint* point) : point_(point) {}
    void set_point(YieldPoint* point) { point_ = point; }

    // Whether it is time for yield(); call before each unit.
    bool is_due() { return ++units_ >= kUnitsPerCheck || slice_over(); }
    // Begins a slice, and yields first if others wait: calls `save` before and `restore` behind
    // that. Returns false, having restored nothing, when the point has gone.
    template <typename Save, typename Restore>
    bool yield(Save&& save, Restore&& restore) {
        units_ = 0;
        start_slice();
        if (point_ == nullptr) {
            Operation::check();
            return true;
        }
        if (!point_->should_yield()) return true;
        ++yields_;
        save();
        if (!point_->yield()) return false;
        restore();
        return true;
    }
    int64_t yields() const { return yields_; }

  private:
    static constexpr int64_t kUnitsPerCheck = 128;

    YieldPoint* point_;
    int64_t units_ = 0;
    int64_t yields_ = 0;
};

}  // namespace sched
