// command/report/startup_log.h - local.startup_log, which has a document for each start of the
// server (mmapv1 spec 1.1 rule 5).
#pragma once

#include "catalog/catalog.h"

namespace command {

struct ServerContext;

// Adds a document about this start. Takes the lock of local. A failure is only logged.
void log_startup(catalog::Catalog& catalog, const ServerContext& context);

}  // namespace command
