// sched/tick.h - what a thread computes for its operation, counted in ticks.
//
// The room sched/ is what the operations of a server share: operation.h has one operation, its end
// and its progress; tick.h what its thread counts; work_limit.h, compute_slots.h and yield_point.h
// what follows from long work; fault_point.h, lock_view.h and memory.h what others wait for or see.
//
// A loop that input makes long calls tick() in every round. Once in a while that looks whether the
// operation has to end, and whether its time slice is over; between two such looks it costs a
// subtraction. A loop over a range does so by `for (e : ticked(range))`, a sort by a comparison
// that is ticking(), and what is done with bytes by tick_bytes().
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace sched {

class Operation;
class Preemptible;

// A long operation yields after such a time, if others wait (sched/yield_point.h).
constexpr std::chrono::milliseconds kSlice{10};

namespace detail {

// The state of a thread's operation, for the code of this room.
struct ThreadState {
    using Clock = std::chrono::steady_clock;
    static constexpr int64_t kTicksPerLook = 64;
    static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

    int64_t ticks_left = kTicksPerLook;  // until the next look
    int64_t ticks = kTicksPerLook;       // with ticks_left
    Operation* operation = nullptr;
    // WorkLimit: where the work ends, by ticks(), and its name.
    int64_t work_end = kNoLimit;
    const char* work = nullptr;
    // How many there are in scope of the two below, which let nothing end the work, or all.
    int uninterruptible = 0;
    int may_end = 0;
    bool slice_begun = false, slice_over = false;
    bool is_long = false;
    Preemptible* preemptible = nullptr;
    bool has_slot = false;  // ComputeSlots
    Clock::time_point slice_end{}, slot_end{};
    void (*before_blocking)() = nullptr;  // FaultPoint
};
inline thread_local constinit ThreadState t_state;

void on_tick_budget_exhausted();

}  // namespace detail

// `cost`: about 100 ns each. Throws what Operation::check() does, and what a WorkLimit in scope
// does.
inline void tick(int64_t cost = 1) {
    if ((detail::t_state.ticks_left -= cost) < 0) [[unlikely]]
        detail::on_tick_budget_exhausted();
}

// What is done with bytes, by how many of them take about a tick.
enum class PerTick : int64_t { copied = 1024, walked = 256, converted = 64 };
// The ticks for storing a document, beside those for its bytes.
inline constexpr int64_t kTicksPerDocument = 8;

// `beside`: the ticks that do not depend on the bytes.
template <std::integral Size>
void tick_bytes(Size bytes, PerTick kind, int64_t beside = 1) {
    tick(beside + static_cast<int64_t>(bytes) / static_cast<int64_t>(kind));
}

// Counts, and leaves it to the next tick to look: for places at which nothing may be thrown.
template <std::integral Size>
void note_bytes(Size bytes, PerTick kind) {
    detail::t_state.ticks_left -= 1 + static_cast<int64_t>(bytes) / static_cast<int64_t>(kind);
}

// A range that ticks when one of its items is looked at: each item is to be looked at once.
template <typename Range>
class Ticked {
  public:
    template <typename Inner>
    class Iterator {
      public:
        Iterator(Inner inner, int64_t cost) : inner_(std::move(inner)), cost_(cost) {}
        decltype(auto) operator*() const {
            tick(cost_);
            return *inner_;
        }
        Iterator& operator++() {
            ++inner_;
            return *this;
        }
        template <typename End>
        bool operator!=(const End& end) const {
            return inner_ != end;
        }

      private:
        Inner inner_;
        int64_t cost_;
    };

    Ticked(Range&& range, int64_t cost) : range_(std::forward<Range>(range)), cost_(cost) {}
    auto begin() { return Iterator<decltype(std::begin(range_))>(std::begin(range_), cost_); }
    auto end() { return std::end(range_); }

  private:
    Range range_;
    int64_t cost_;
};

// Returns what a range-based for walks so that each round is a tick (of this cost). Refers to
// `range`, or owns it if that is a temporary one.
template <typename Range>
Ticked<Range> ticked(Range&& range, int64_t cost = 1) {
    return {std::forward<Range>(range), cost};
}

namespace detail {

template <typename Number>
struct Numbers {
    struct Iterator {
        Number value;
        Number operator*() const { return value; }
        Iterator& operator++() {
            ++value;
            return *this;
        }
        bool operator==(const Iterator& other) const = default;
    };
    Iterator begin() const { return {first}; }
    Iterator end() const { return {std::max(first, last)}; }

    Number first, last;
};

}  // namespace detail

// Returns the numbers from `first` to before `last`, as a range whose rounds are ticks.
template <typename Number>
auto rounds(Number first, Number last) {
    return ticked(detail::Numbers<Number>{first, last});
}

// Returns a function, such as the comparison of a sort, that does as `call` does and is a tick.
template <typename Call>
auto ticking(Call call) {
    return [call = std::move(call)](auto&&... arguments) -> decltype(auto) {
        tick();
        return call(std::forward<decltype(arguments)>(arguments)...);
    };
}

// Returns how many ticks the calling thread has counted so far, but for the last few.
inline int64_t ticks() {
    return detail::t_state.ticks - detail::t_state.ticks_left;
}

inline bool slice_over() {
    return detail::t_state.slice_over;
}
inline void start_slice() {
    detail::t_state.slice_over = detail::t_state.slice_begun = false;
}
// Whether the calling thread has computed for its operation for longer than a slice. False where
// it has none.
inline bool is_long() {
    return detail::t_state.is_long;
}

namespace detail {

// Raises a count of the calling thread while it lives.
template <int ThreadState::*count>
class Raised {
  public:
    Raised() { ++(t_state.*count); }
    ~Raised() { --(t_state.*count); }
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;
};

}  // namespace detail

// Lets nothing end what the calling thread does while it is in scope, as a write that has begun or
// a reply that tells of one: tick() throws nothing and no memory limit (sched/memory.h) holds.
class Uninterruptible : detail::Raised<&detail::ThreadState::uninterruptible> {};
// In the scope of one of these, but not of several in each other, lets tick() throw after all: for
// what takes long before the first step of a write, or between steps that it can undo.
class MayEnd : detail::Raised<&detail::ThreadState::may_end> {};

inline bool is_uninterruptible() {
    return detail::t_state.uninterruptible != 0;
}
// Whether something may end what the calling thread does. False where that is no operation's.
inline bool can_be_ended() {
    return detail::t_state.operation != nullptr && !is_uninterruptible();
}

// Calls work(), which nothing ends.
template <typename Work>
decltype(auto) undisturbed(Work&& work) {
    const Uninterruptible whole;
    return work();
}

// Calls work(). If that throws, calls undo(), which nothing ends, and throws on.
template <typename Work, typename Undo>
decltype(auto) undo_if_fails(Work&& work, Undo&& undo) {
    try {
        return work();
    } catch (...) {
        undisturbed(undo);
        throw;
    }
}

// Lets tick() yield while it is in scope and the calling thread holds no lock: computation that
// needs no lock takes turns with others all the same (sched/compute_slots.h). REQUIRES: no mutex is
// held where it ticks.
class Preemptible {
  public:
    Preemptible() : before_(detail::t_state.preemptible) { detail::t_state.preemptible = this; }
    virtual ~Preemptible() { detail::t_state.preemptible = before_; }
    Preemptible(const Preemptible&) = delete;
    Preemptible& operator=(const Preemptible&) = delete;

    // Called when the slice is over and the calling thread holds a lock. Returns whether it has
    // given that up, which the computation does not need.
    virtual bool give_up() { return false; }

  private:
    Preemptible* const before_;
};

}  // namespace sched
