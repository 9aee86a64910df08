/* A connection that speaks as drivers did before wire version 6: a write with getLastError behind
 * it, queries and commands by OP_QUERY (wire spec 1.3, 3.9). For servers that today's drivers
 * refuse. One thread at a time; all functions block. On an error they say why in `error`, and the
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

/* A connected socket, without Nagle's delays; -1 with errno where there can be none. */
int old_wire_socket(const char* host, uint16_t port);

/* Runs a command. False as well when the reply has no ok: 1. `reply` lives until the next call. */
bool old_wire_command(old_wire_t* wire, const char* database, const bson_t* command, bson_t* reply,
                      bson_error_t* error);

/* The writes ask for the result in the same send: two messages, one reply. Durable with
 * `journaled`; a server without a journal gets an error then. `ns` is database.collection. Update
 * and remove are of one document, and return how many there were, -1 on an error. */
bool old_wire_insert(old_wire_t* wire, const char* ns, const bson_t* const* documents, int count,
                     bool journaled, bson_error_t* error);
int64_t old_wire_update(old_wire_t* wire, const char* ns, const bson_t* filter,
                        const bson_t* change, bool upsert, bool journaled, bson_error_t* error);
int64_t old_wire_remove(old_wire_t* wire, const char* ns, const bson_t* filter, bool journaled,
                        bson_error_t* error);

/* A batch of what a query finds, of about `count` documents; 0: as many as the server likes, below
 * 0: so many and no cursor. Each document is given to `each`, if that is not NULL. Returns how many
 * there were, -1 on an error; `cursor` is 0 then or when there are no more. */
typedef void old_wire_each_t(void* context, const bson_t* document);
int64_t old_wire_query(old_wire_t* wire, const char* ns, const bson_t* query, int32_t count,
                       old_wire_each_t* each, void* context, int64_t* cursor, bson_error_t* error);
int64_t old_wire_get_more(old_wire_t* wire, const char* ns, int32_t count, old_wire_each_t* each,
                          void* context, int64_t* cursor, bson_error_t* error);
bool old_wire_kill_cursor(old_wire_t* wire, int64_t cursor, bson_error_t* error);
