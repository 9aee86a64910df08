#include "command/request/registry.h"

#include <algorithm>

#include "base/dcheck.h"

namespace command {

Registry::Registry(std::span<const Family> families) {
    for (const Family& family : families) {
        for (const Command& command : family) {
            DCHECK(command.run != nullptr && command.need.on != Need::On::undeclared);
            DCHECK(!by_name_.contains(command.name) && !by_name_.contains(command.alias));
            by_name_.emplace(command.name, &command);
            if (!command.alias.empty()) by_name_.emplace(command.alias, &command);
            sorted_.push_back(&command);
        }
    }
    std::ranges::sort(sorted_, {}, [](const Command* c) { return c->name; });
}

}  // namespace command
