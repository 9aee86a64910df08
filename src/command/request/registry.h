// command/request/registry.h - the commands by name.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bson/builder.h"
#include "command/request/command.h"

namespace command {

// How often a command has been answered, and with an error. Any thread may add.
struct CommandCounts {
    std::atomic<int64_t> total{0}, failed{0};
};

class Registry {
  public:
    explicit Registry(std::span<const Family> families);

    struct Found {
        const Command* command = nullptr;  // null: there is none of this name
        CommandCounts* counts = nullptr;   // of it, or of all that are unknown
    };
    // Looks a command up by name or alias, matched exactly.
    Found look_up(std::string_view name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? unknown() : found->second;
    }
    Found unknown() const { return {nullptr, &counts_[sorted_.size()]}; }
    // Returns null if there is none.
    const Command* find(std::string_view name) const { return look_up(name).command; }
    // Returns the commands in order of name.
    std::span<const Command* const> sorted() const { return sorted_; }
    // metrics.commands of serverStatus: { <UNKNOWN>: n, name: { failed, total }, ... }. `tests`:
    // also commands for tests alone.
    void append_counts(bool tests, bson::Builder& out) const;

  private:
    std::unordered_map<std::string_view, Found> by_name_;
    std::vector<const Command*> sorted_;
    std::unique_ptr<CommandCounts[]> counts_;  // in the order of sorted_; the last: of none
};

}  // namespace command
