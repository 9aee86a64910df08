// server/unused_parameters.h - server parameters that old clients and scripts read or set, and that
// name what this server does not have: replication, sharding, users, a plan cache.
#pragma once

namespace server {

// Adds them. They keep what they are set to until they are removed with all others; nothing reads
// it.
void add_unused_parameters();

}  // namespace server
