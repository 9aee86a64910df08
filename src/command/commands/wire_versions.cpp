#include "command/commands/wire_versions.h"

#include <fmt/format.h>

#include <algorithm>

#include "command/commands/families.h"
#include "command/commands/writes.h"

namespace command {

namespace {

// Transactions (7 and 8) are not among them: they need a replica set, and each statement of one has
// a reply; nor are encrypted collections (21), since making one has a reply; nor what only a
// service has (createSearchIndexes).
constexpr WirePromise kPromises[] = {
    {2, "insert"},
    {2, "update"},
    {2, "delete"},
    {3, "listCollections"},
    {3, "listIndexes"},
    {3, "createIndexes"},
    {4, "find"},
    {4, "getMore"},
    {4, "killCursors"},
    {5, "find", "collation"},
    {5, "update", "collation"},
    {5, "delete", "collation"},
    {5, "findAndModify", "collation"},
    {6, "update", "arrayFilters"},
    {6, "findAndModify", "arrayFilters"},
    {6, "endSessions"},
    {8, "update", "hint"},
    {8, "findAndModify", "hint"},
    {9, "delete", "hint"},
    {9, "find", "allowDiskUse"},
    {13, "find", "let"},
    {13, "update", "let"},
    {13, "delete", "let"},
    {13, "findAndModify", "let"},
    {25, "bulkWrite"},
    {25, "update", "sort"},
};

const Command* find_command(std::span<const Family> families, std::string_view name) {
    const Command* const refused = refused_commands().data();
    for (const Family& family : families) {
        if (family.data() == refused) continue;
        const auto found = std::ranges::find(family, name, &Command::name);
        if (found != family.end()) return &*found;
    }
    return nullptr;
}

bool takes(Fields fields, std::string_view name) {
    return std::ranges::any_of(fields, [name](const Field& field) {
        return field.name == name && field.use != Field::Use::refused;
    });
}

}  // namespace

std::string WirePromise::text() const {
    if (field.empty()) return fmt::format("the command {}", command);
    return fmt::format("{} in the command {}", field, command);
}

std::span<const WirePromise> wire_promises() {
    return kPromises;
}

bool is_kept(const WirePromise& promise, std::span<const Family> families) {
    const Command* const command = find_command(families, promise.command);
    if (command == nullptr) return false;
    if (promise.field.empty() || takes(command->fields, promise.field)) return true;
    return (promise.command == "update" && takes(update_item_fields(), promise.field)) ||
           (promise.command == "delete" && takes(delete_item_fields(), promise.field));
}

std::optional<WirePromise> first_unkept_promise(std::span<const Family> families) {
    for (const WirePromise& promise : kPromises) {
        if (!is_kept(promise, families)) return promise;
    }
    return std::nullopt;
}

}  // namespace command
