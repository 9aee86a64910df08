// replica/step_down.h - how a primary makes another member the primary, one that has all.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "replica/config.h"
#include "replica/member.h"

namespace replica {

class StepDown {
  public:
    explicit StepDown(Member& member) : member_(member) {}
    // Does what Member::step_down() says.
    void run(std::chrono::milliseconds limit, int64_t seconds);

  private:
    std::optional<size_t> successor(const Config& config, oplog::Position last) const;
    size_t await_successor(const Config& config, oplog::Position last,
                           std::chrono::milliseconds limit);
    void end();  // one that is the primary takes writes again
    void hand_over(const MemberConfig& heir, int64_t seconds);

    Member& member_;
};

// Throws base::Error 10107 where that is so.
void check_not_stepping_down(const Role& role);

}  // namespace replica
