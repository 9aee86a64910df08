#include "election/commit_point.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/dcheck.h"

namespace election {

void CommitPoint::begin(int64_t term) {
    DCHECK(term > term_);
    term_ = term;
    first_ = {};
    committed_ = {};
    reports_.clear();
}

void CommitPoint::reported(MemberId member, int64_t term, int64_t config_version, Position durable,
                           const Config& config) {
    if (term != term_) return;
    Report& report = reports_[member];
    report.config_version = std::max(report.config_version, config_version);
    if (config_version < config.version) return;
    report.durable = std::max(report.durable, durable);
}

// The last position that a majority of the voters has.
Position CommitPoint::reached(MemberId self, const Config& config) const {
    std::vector<Position> of_each;
    for (const Voter& voter : config.voters) {
        const auto found = reports_.find(voter.id);
        of_each.push_back(voter.id == self          ? own_
                          : found == reports_.end() ? Position()
                                                    : found->second.durable);
    }
    if (of_each.empty()) return {};
    const auto last = of_each.begin() + static_cast<std::ptrdiff_t>(config.majority()) - 1;
    std::ranges::nth_element(of_each, last, std::greater<>());
    return *last;
}

// An entry of an earlier term may still be missing in the next primary although a majority has it:
// only with one of this term behind it, it cannot.
Position CommitPoint::advance(MemberId self, const Config& config) {
    const Position reached = this->reached(self, config);
    if (first_.term == term_ && reached >= first_) committed_ = std::max(committed_, reached);
    return committed_;
}

bool CommitPoint::is_settled(MemberId self, const Config& config) const {
    const auto knows_config = [&](const Voter& voter) {
        const auto found = reports_.find(voter.id);
        return voter.id == self ||
               (found != reports_.end() && found->second.config_version >= config.version);
    };
    if (static_cast<size_t>(std::ranges::count_if(config.voters, knows_config)) < config.majority())
        return false;
    const Position reached = this->reached(self, config);
    return first_.term == term_ && reached >= first_ && reached >= committed_;
}

}  // namespace election
