// election/testing/memory_coordinator.h - a coordinator in memory: what etcd does with a
// transaction, and nothing of when, or whether, its answer comes.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "election/keys.h"

namespace election {

class MemoryCoordinator final : public Coordinator {
  public:
    std::optional<Answer> run(const Transaction& transaction, std::string* /*why*/) override {
        return apply(transaction);
    }
    Answer apply(const Transaction& transaction) {
        Answer answer;
        answer.succeeded = std::ranges::all_of(
            transaction.compares, [this](const Compare& compare) { return holds(compare); });
        if (answer.succeeded) {
            for (const Put& put : transaction.puts)
                values_[put.key] = put.value;
            for (const Range& range : transaction.removes)
                values_.erase(values_.lower_bound(range.begin), values_.lower_bound(range.end));
        }
        answer.found = {values_.lower_bound(transaction.read.begin),
                        values_.lower_bound(transaction.read.end)};
        return answer;
    }
    void lose_all() { values_.clear(); }
    bool has(const std::string& key) const { return values_.contains(key); }
    const std::map<std::string, std::string>& values() const { return values_; }

  private:
    bool holds(const Compare& compare) const {
        const auto found = values_.find(compare.key);
        if (found == values_.end()) return !compare.value;
        return compare.value && *compare.value == found->second;
    }

    std::map<std::string, std::string> values_;
};

}  // namespace election
