// command/command.h - what a command is. The commands themselves lie in families/, each family in a
// file that ends with its table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace command {

struct Invocation;

enum CommandFlag : uint32_t {
    kAdminOnly = 1u << 0,
    kTestOnly = 1u << 1,        // only with enableTestCommands
    kLocalOnly = 1u << 2,       // changes the server itself (local_rule.h)
    kKeepsLastError = 1u << 3,  // getLastError and friends: does not age the last error
    kNotCounted = 1u << 5,      // not in opcounters.command (writes count as themselves)
    kRecordsFailure = 1u << 6,  // a failure is news for getLastError
    kNoSession = 1u << 7,       // lsid is checked, but no session begins with it or is used
};

// What `help: true` shows as lockType, and what listCommands derives from it.
enum class LockKind : int8_t { read = -1, none = 0, write = 1 };

struct Command {
    std::string_view name;
    std::string_view alias;  // second spelling, or empty
    uint32_t flags = 0;
    LockKind lock = LockKind::none;
    std::string_view help;
    void (*run)(Invocation&) = nullptr;
};

// A table of commands; it lives as long as the program.
using Family = std::span<const Command>;

}  // namespace command
