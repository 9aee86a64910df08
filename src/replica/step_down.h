// replica/step_down.h - how a primary makes another member the primary, one that has all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "replica/config.h"
#include "replica/member.h"

namespace replica {

class StepDown {
  public:
    explicit StepDown(Member& member) : member_(member) {}
    // Does what Member::step_down() says. `heir`: by its id, the only member that may follow; none:
    // any.
    void run(std::chrono::milliseconds limit, int64_t seconds, std::optional<int32_t> heir = {});

  private:
    std::optional<size_t> successor(const Config& config, oplog::Position last) const;
    size_t await_successor(const Config& config, oplog::Position last,
                           std::chrono::milliseconds limit);
    void await_heir();  // clients do, from now on
    void end();         // one that is the primary takes writes again
    void hand_over(const MemberConfig& heir, int64_t seconds);
    template <typename Work>
    void exclusively(Work&& work);
    void follow(const std::shared_ptr<const Config>& config, Config next);

    Member& member_;
    std::optional<int32_t> heir_;
};

// Makes a member of a higher priority the primary, of a set with elections: one that other members
// have elected for want of it goes on until it is back, and has nearly all.
class PriorityTakeover {
  public:
    explicit PriorityTakeover(Member& member) : member_(member) {}
    // No lock, one thread, each 10 s: hands over where it was so the last time, too, and at most
    // once a minute. Throws what Member::step_down() does.
    void look();

  private:
    std::optional<int32_t> preferred() const;

    Member& member_;
    std::optional<int32_t> preferred_;  // the last time
    std::optional<std::chrono::steady_clock::time_point> handed_over_at_;
};

// Throws base::Error 10107 where that is so.
void check_not_stepping_down(const Role& role);

}  // namespace replica
