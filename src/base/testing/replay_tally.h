// base/testing/replay_tally.h - counts what the replays of recorded cases find; only tests include
// this.
//
// A case that differs on purpose counts neither as passed nor in the total. REPLAY_VERBOSE in the
// environment prints every case that differs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace base {

class ReplayTally {
  public:
    // `difference` is empty where the case agrees; `reason`, if not null, says why it may differ.
    void add(const std::string& id, const std::string& difference, const char* reason) {
        auto& [good, all] = topics_[id.substr(0, id.rfind('-'))];
        const bool by_design = !difference.empty() && reason != nullptr;
        if (by_design) {
            ++different_;
        } else {
            ++total_;
            ++all;
        }
        if (difference.empty()) {
            ++passed_;
            ++good;
        } else if (std::getenv("REPLAY_VERBOSE") != nullptr) {
            std::printf("%s: %s\n", id.c_str(), by_design ? reason : difference.c_str());
        }
    }
    // One line per topic that is not perfect, then the sums.
    void print(const char* what) const {
        for (const auto& [topic, counts] : topics_) {
            if (counts.first != counts.second)
                std::printf("%s: %d of %d\n", topic.c_str(), counts.first, counts.second);
        }
        std::printf("%d of %d recorded %s agree, %d more differ by design\n", passed_, total_, what,
                    different_);
    }
    int passed() const { return passed_; }
    int total() const { return total_; }

  private:
    int total_ = 0;
    int passed_ = 0;
    int different_ = 0;
    std::map<std::string, std::pair<int, int>> topics_;  // agreeing cases, all that should
};

}  // namespace base
