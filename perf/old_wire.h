/* A connection that speaks as drivers did before wire version 6: OP_INSERT with getLastError behind
 * it, commands by OP_QUERY (wire spec 1.3, 3.9). For servers that today's drivers refuse.
 * One thread at a time; all functions block. On an error they say why in `error`, and the
 * connection is of no use any more but for old_wire_close(). */
#pragma once

#include <bson/bson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct old_wire old_wire_t;

/* `host` is a name, an address, or the path of a Unix socket, which has no port. NULL on an error.
 * The caller closes it. */
old_wire_t* old_wire_connect(const char* host, uint16_t port, bson_error_t* error);
void old_wire_close(old_wire_t* wire);

/* Runs a command. False as well when the reply has no ok: 1. */
bool old_wire_command(old_wire_t* wire, const char* database, const bson_t* command,
                      bson_error_t* error);

/* Inserts and asks for the result in the same send: two messages, one reply. Durable with
 * `journaled`; a server without a journal gets an error then. `ns` is database.collection. */
bool old_wire_insert(old_wire_t* wire, const char* ns, const bson_t* const* documents, int count,
                     bool journaled, bson_error_t* error);
