// wire/connection.h - begins the connection of a client (wire/client_connection.h).
#pragma once

#include "wire/connection_table.h"
#include "wire/event_loop.h"
#include "wire/handler.h"

namespace wire {

class TlsContext;

// Takes over a connected, non-blocking stream socket, which is closed where this throws.
// `info.number` comes from admit(), and is dismissed then. `tls`: what clients may or must encrypt
// with; null: nothing.
void start_connection(EventLoop& loop, ConnectionTable& table, Handler& handler, int fd, int family,
                      ConnectionInfo info, const TlsContext* tls);

}  // namespace wire
