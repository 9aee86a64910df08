// election/lease.h - how long a primary may answer: while a majority has answered a heartbeat that
// was sent not long ago. Who answers one agrees to no election for an election timeout from then
// (primary_watch.h), so no other primary comes before the lease has ended, as far as clocks run at
// the same rate. Majority writes do not rely on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "election/types.h"

namespace election {

class Lease {
  public:
    // `asked_ms`: when the election was asked for that has made this member the primary.
    void begin(int64_t asked_ms) {
        begun_ms_ = asked_ms;
        answered_.clear();
    }
    // A member that follows this primary has answered what was sent then.
    void answered(MemberId member, int64_t sent_ms) {
        int64_t& last = answered_[member];
        last = std::max(last, sent_ms);
    }
    // When the youngest majority was asked.
    int64_t confirmed_ms(MemberId self, const Config& config, int64_t now_ms) const {
        std::vector<int64_t> of_each;
        for (const Voter& voter : config.voters) {
            const auto found = answered_.find(voter.id);
            of_each.push_back(voter.id == self           ? now_ms
                              : found == answered_.end() ? begun_ms_
                                                         : std::max(begun_ms_, found->second));
        }
        if (of_each.empty()) return begun_ms_;
        const auto last = of_each.begin() + static_cast<std::ptrdiff_t>(config.majority()) - 1;
        std::ranges::nth_element(of_each, last, std::greater<>());
        return *last;
    }

  private:
    int64_t begun_ms_ = 0;
    std::map<MemberId, int64_t> answered_;
};

}  // namespace election
