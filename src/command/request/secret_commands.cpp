#include "command/request/secret_commands.h"

#include "catalog/names.h"
#include "command/observe/secrets.h"
#include "command/request/registry.h"
#include "command/request/service.h"
#include "dialect/requests.h"

namespace command {

namespace {

// It names the collection, with its database or without, or holds another command that does.
bool is_on_users(const Invocation& invocation, const Command& command) {
    bson::Element target = target_of(invocation, command);
    if (target.is_object()) target = target.as_doc().first();
    if (!target.is_string()) return false;
    const std::string_view name = catalog::until_nul(target.as_string());
    return name == "system.users" || holds_users(name);
}

}  // namespace

bool holds_secrets(const Invocation& invocation, const Command& command) {
    if ((command.flags & kHidesBody) != 0) return true;
    // A hello's; by OP_MSG others with it have been refused.
    if (command.need.on == Need::On::nothing &&
        (!invocation.dialect().has(dialect::kFieldsAreChecked) ||
         (command.flags & kAnyField) != 0) &&
        invocation.body.has("speculativeAuthenticate"))
        return true;
    if (is_on_users(invocation, command)) return true;
    const bson::Element first = invocation.first();
    if (!first.is_object()) return first.is_array();
    const std::string_view name = first.as_doc().first().name();
    const Command* const inner = invocation.service.commands().find(name);
    return inner == nullptr || (inner->flags & kHidesBody) != 0 || inner == &command;
}

}  // namespace command
