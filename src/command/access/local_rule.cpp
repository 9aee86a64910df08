#include "command/access/local_rule.h"

#include "base/error.h"
#include "options/server_parameters.h"

namespace command {

bool may_administer(const wire::ConnectionInfo& client) {
    return client.local_client || options::remote_administration.get();
}

void require_local(const wire::ConnectionInfo& client, std::string_view what) {
    if (may_administer(client)) return;
    base::fail(base::kUnauthorized,
               "{} must run from localhost when running db without auth; a server started with "
               "--setParameter remoteAdministration=1 allows it from elsewhere",
               what);
}

}  // namespace command
