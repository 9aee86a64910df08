// command/write/ttl.h - removing expired documents: what a TTL index asks for (wire spec 4.6).
#pragma once

#include <cstdint>

namespace command {

class OperationContexts;

// Looks at all TTL indexes once. The server calls it once a minute (server/). Returns how many
// documents went.
int64_t delete_expired(OperationContexts& contexts);

}  // namespace command
