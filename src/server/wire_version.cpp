#include "server/wire_version.h"

#include <limits>

#include "base/error.h"
#include "command/commands/families.h"
#include "command/commands/wire_versions.h"
#include "options/server_parameters.h"

namespace server {

int announced_wire_version() {
    const auto missing = command::first_unkept_promise(command::all_families());
    const int limit = missing ? missing->wire_version : std::numeric_limits<int>::max();
    const int asked = options::announced_wire_version(limit);
    if (asked >= limit)
        base::fail(base::kBadValue,
                   "announcedMaxWireVersion {} tells clients that there is {}, which this server "
                   "does not have: give {} at most",
                   asked, missing->text(), limit - 1);
    return asked;
}

}  // namespace server
