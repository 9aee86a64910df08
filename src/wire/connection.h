// wire/connection.h - one client: reads messages, has its session serve them one after the other,
// sends the replies.
//
// Inside wire/ only. A connection belongs to one loop for life. It is always in exactly one place:
// reading (an asynchronous read is under way), serving (some thread is in its session), sending
// (an asynchronous write is under way), suspended (nothing is under way; wake() goes on), or ended.
// A message is taken from the buffer when its exchange has ended, so what the session sees stays
// valid while it is suspended.
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
