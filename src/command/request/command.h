// command/request/command.h - what a command is. The commands themselves lie in command/commands/,
// each family in a file that ends with its table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "auth/actions.h"
#include "command/request/fields.h"

namespace command {

class Rights;
struct Invocation;

enum CommandFlag : uint32_t {
    kAdminOnly = 1u << 0,
    kTestOnly = 1u << 1,        // only with enableTestCommands
    kLocalOnly = 1u << 2,       // changes the server itself (local_rule.h)
    kKeepsLastError = 1u << 3,  // getLastError and friends: does not age the last error
    kOnAnyMember = 1u << 4,     // served by a member of a replica set in each of its states
    kNotCounted = 1u << 5,      // not in opcounters.command (writes count as themselves)
    kRecordsFailure = 1u << 6,  // a failure is news for getLastError
    kNoSession = 1u << 7,       // lsid is checked, but no session begins with it or is used
    kHidesBody = 1u << 8,       // its body holds secrets: only its first field is ever shown
    kAnyField = 1u << 9,        // names of its fields are data, or it fails in any case
    kRetryable = 1u << 10,      // a write that may be sent again (retryable_write.h)
    kInTransaction = 1u << 11,  // may be one of a transaction (retryable_write.h)
    kEndsTransaction = 1u << 12,
};

// The lock that `help: true` shows as lockType, and from which listCommands derives its fields.
enum class LockKind : int8_t { read = -1, none = 0, write = 1 };

// The rights that a client must have to run a command, where access is controlled
// (command/request/authorization.h).
struct Need {
    enum class On : uint8_t {
        undeclared,  // forgotten: refused to every client
        nothing,     // allowed to every client, also before logging in
        login,       // allowed to every logged-in client
        cluster,     // the actions on the server as a whole,
        database,    // on the database that the command runs on,
        collection,  // on the collection that the command's first field names
        decided,     // what `decide` says
    };
    On on = On::undeclared;
    auth::Actions actions = 0;
    bool (*decide)(const Invocation&, const Rights&) = nullptr;
};

namespace needs {

constexpr Need nothing{Need::On::nothing};
constexpr Need login{Need::On::login};
constexpr Need on_cluster(auth::Actions actions) {
    return {Need::On::cluster, actions};
}
constexpr Need on_database(auth::Actions actions) {
    return {Need::On::database, actions};
}
constexpr Need on_collection(auth::Actions actions) {
    return {Need::On::collection, actions};
}
constexpr Need decided(bool (*decide)(const Invocation&, const Rights&)) {
    return {Need::On::decided, 0, decide};
}

}  // namespace needs

struct Command {
    std::string_view name;
    std::string_view alias;  // second spelling, or empty
    uint32_t flags = 0;
    LockKind lock = LockKind::none;
    std::string_view help;
    void (*run)(Invocation&) = nullptr;
    Need need = {};
    Fields fields = {};  // behind the first one, which is the command's own
};

// A table of commands; it lives as long as the program.
using Family = std::span<const Command>;

}  // namespace command
