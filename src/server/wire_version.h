// server/wire_version.h - which wire version the options ask for, within what this server keeps.
#pragma once

namespace server {

// Returns maxWireVersion of hello. Throws base::Error where announcedMaxWireVersion promises
// clients what is not here (command/commands/wire_versions.h); that of announcedVersion is the
// highest that does not.
int announced_wire_version();

}  // namespace server
