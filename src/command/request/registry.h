// command/request/registry.h - the commands by name.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "command/request/command.h"

namespace command {

class Registry {
  public:
    explicit Registry(std::span<const Family> families);

    // Returns the command by name or alias, matched exactly. Returns null if there is none.
    const Command* find(std::string_view name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }
    // Returns the commands in order of name.
    std::span<const Command* const> sorted() const { return sorted_; }

  private:
    std::unordered_map<std::string_view, const Command*> by_name_;
    std::vector<const Command*> sorted_;
};

}  // namespace command
