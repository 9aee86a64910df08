// sched/yield_point.h - how long work yields: between two of its units it releases what others wait
// for, and takes it again.
//
// A unit is a document, a key of an index, a step of a plan. Inside one there is no yield, but a
// limit (sched/work_limit.h), and what clients' scripts do is detached. A step that may pass over
// millions of keys ends early where slice_over() says so, as an unfinished one
// (query/plan/index_scan.h): the loop around it is due then, and is the only one that yields.
#pragma once

#include <cstdint>
#include <exception>

#include "sched/operation.h"
#include "sched/tick.h"
#include "sched/work_limit.h"

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

    // For work that takes long without it. Whether it can be given up; then it is released, and
    // taken back when the work is done. take_back() returns what yield() does, and waits
    // whatever interrupts it.
    virtual bool may_give_up() { return false; }
    virtual void give_up() {}
    virtual bool take_back() { return true; }
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
    // Calls `work`, which needs nothing of what the point guards, as a part of a unit. Where it
    // goes on behind the end of the slice, the point is given up until it is done: `save` is called
    // before that, and `restore` behind it unless the point has gone. If the point cannot be given
    // up, the work has a limit (sched/work_limit.h) and that name.
    enum class Point { kept, given_up, gone };
    template <typename Work, typename Save, typename Restore>
    Point detached(const char* name, Work&& work, Save&& save, Restore&& restore) {
        if (point_ == nullptr || !point_->may_give_up()) {
            const WorkLimit limit(name);
            work();
            return Point::kept;
        }
        bool given_up = false;
        std::exception_ptr error;
        {
            const GivingUp preemptible(*point_, save, given_up);
            try {
                work();
            } catch (...) {
                if (!given_up) throw;
                error = std::current_exception();
            }
        }
        if (!given_up) return Point::kept;
        units_ = 0;
        ++yields_;
        start_slice();
        if (!point_->take_back()) return Point::gone;
        restore();
        if (error != nullptr) std::rethrow_exception(error);
        return Point::given_up;
    }
    int64_t yields() const { return yields_; }

  private:
    static constexpr int64_t kUnitsPerCheck = 128;

    template <typename Save>
    class GivingUp final : public Preemptible {
      public:
        GivingUp(YieldPoint& point, Save& save, bool& given_up)
            : point_(point), save_(save), given_up_(given_up) {}
        bool give_up() override {
            save_();
            point_.give_up();
            given_up_ = true;
            return true;
        }

      private:
        YieldPoint& point_;
        Save& save_;
        bool& given_up_;
    };

    YieldPoint* point_;
    int64_t units_ = 0;
    int64_t yields_ = 0;
};

}  // namespace sched
