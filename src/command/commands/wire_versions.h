// command/commands/wire_versions.h - what a client takes for granted by a server's wire version
// (wire spec 1b). An unacknowledged write has no reply in which a server could refuse it: what is
// not here must not be announced.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "command/request/command.h"

namespace command {

// Drivers send the command, or the field in it, from this wire version on without asking further.
struct WirePromise {
    int wire_version;
    std::string_view command;
    std::string_view field = {};  // of the command, or of each of its updates or deletes
    std::string text() const;     // for people: "the command bulkWrite"
};

// Returns the promises in the order of their wire versions.
std::span<const WirePromise> wire_promises();

// Whether `families` have it; a command that is known in order to be refused is none.
bool is_kept(const WirePromise& promise, std::span<const Family> families);

// Returns the first one that is not kept: only wire versions below it may be announced. Returns
// nothing where all are.
std::optional<WirePromise> first_unkept_promise(std::span<const Family> families);

}  // namespace command
