// replica/role.h - which state a member of a set is in, and which state may follow from it.
//
//   from                              when                                          to
//   startup                           it is initiated here, or is the only member   primary
//   startup                           another member's configuration comes          secondary,
//   startup2 secondary, recovering, startup2   as the tailer finds the source                each
//   other secondary, recovering, startup2   the configuration makes it the primary        primary
//   primary                           the configuration makes another the primary   secondary,
//   startup2 removed                           another configuration comes primary, secondary,
//                                                                                   startup2
//   all                               a configuration that it cannot serve comes    removed
//
// A primary that steps down takes no writes any more. It is the primary until another one has all.
// Clients that want a primary wait there, for a moment, until the next one is known: who is refused
// before looks for it in vain, and then pauses.
// One that is elected takes and answers writes while its lease lasts (election/lease.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/boot_clock.h"

namespace replica {

// The states of a member, by the numbers that clients know.
enum class State : int32_t {
    startup = 0,     // has no configuration
    primary = 1,     // takes the writes
    secondary = 2,   // its data is that of a moment
    recovering = 3,  // cannot follow; or what it has is of no moment
    startup2 = 5,    // copies the primary's data
    unknown = 6,     // of another member that has not been heard of yet
    down = 8,        // of another member that does not answer
    removed = 10,    // has a configuration that it cannot serve
};
std::string_view name_of(State state);

// Any thread reads; one at a time changes, under the global lock.
class Role {
  public:
    State state() const { return state_.load(std::memory_order_acquire); }
    bool is_primary() const { return state() == State::primary; }
    bool takes_writes() const {
        return is_primary() && !is_stepping_down_.load(std::memory_order_acquire) && has_lease();
    }
    bool has_lease() const {
        const int64_t end = lease_end_ms_.load(std::memory_order_acquire);
        return end == kNoEnd || base::ms_of_boot_clock() < end;
    }
    // Any thread; by the clock of base::ms_of_boot_clock().
    void set_lease_end(int64_t ms) { lease_end_ms_.store(ms, std::memory_order_release); }
    // Whether it is, or is to become, a secondary: it changes only what the primary has changed.
    bool follows() const;
    bool is_stepping_down() const { return is_stepping_down_.load(std::memory_order_acquire); }

    // While it hands over: until then at the latest, by the same clock, it is known who follows.
    // 0: there is nothing to wait for.
    int64_t heir_due_ms() const { return heir_due_ms_.load(std::memory_order_acquire); }
    // Returns whether there was something to wait for.
    bool set_heir_due(int64_t ms) {
        return heir_due_ms_.exchange(ms, std::memory_order_acq_rel) != 0;
    }

    // False: it was in that state already. REQUIRES: the table above has the transition.
    bool enter(State next);
    void set_stepping_down(bool is_stepping_down) {
        is_stepping_down_.store(is_stepping_down, std::memory_order_release);
    }

  private:
    static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
    std::atomic<State> state_{State::startup};
    std::atomic<int64_t> lease_end_ms_{kNoEnd};
    std::atomic<bool> is_stepping_down_{false};
    std::atomic<int64_t> heir_due_ms_{0};
};

}  // namespace replica
