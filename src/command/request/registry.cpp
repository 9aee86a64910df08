#include "command/request/registry.h"

#include <algorithm>

#include "base/dcheck.h"

namespace command {

Registry::Registry(std::span<const Family> families) {
    for (const Family& family : families) {
        for (const Command& command : family) {
            DCHECK(command.run != nullptr && command.need.on != Need::On::undeclared);
            sorted_.push_back(&command);
        }
    }
    std::ranges::sort(sorted_, {}, [](const Command* c) { return c->name; });
    counts_ = std::make_unique<CommandCounts[]>(sorted_.size() + 1);
    for (size_t i = 0; i < sorted_.size(); ++i) {
        const Command& command = *sorted_[i];
        DCHECK(!by_name_.contains(command.name) && !by_name_.contains(command.alias));
        by_name_.emplace(command.name, Found{&command, &counts_[i]});
        if (!command.alias.empty()) by_name_.emplace(command.alias, Found{&command, &counts_[i]});
    }
}

void Registry::append_counts(bool tests, bson::Builder& out) const {
    const auto value = [](const std::atomic<int64_t>& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    out.append("<UNKNOWN>", value(unknown().counts->total));
    for (size_t i = 0; i < sorted_.size(); ++i) {
        if (!tests && (sorted_[i]->flags & kTestOnly) != 0) continue;
        bson::Builder entry = out.sub_object(sorted_[i]->name);
        entry.append("failed", value(counts_[i].failed)).append("total", value(counts_[i].total));
    }
}

}  // namespace command
