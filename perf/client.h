/* A client of MongoDB's protocol. Its user need not know how that is spoken: by today's commands
 * (client_mongoc.c), also by hand (client_raw.c), or by what drivers sent before wire version 6
 * (client_old_wire.c), for servers that today's drivers refuse.
 *
 * A function that fails returns false or -1 and says why in `error`, with the server's code where
 * it has one. A client belongs to one thread at a time. */
#pragma once

#include <bson/bson.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLIENT_DUPLICATE_KEY = 11000, CLIENT_CONFLICT = 112 };

typedef struct clients clients_t; /* where clients come from */
typedef struct client client_t;

/* A collection. The texts live as long as the clients. */
typedef struct {
    const char *database, *collection;
} client_place_t;

typedef struct {
    const client_place_t* place;
    const bson_t *filter, *sort; /* sort: NULL for none */
    int limit;                   /* 0: none */
    int batch;                   /* documents in a reply; 0: as many as the server likes */
    bool by_cursor; /* through the driver's own cursor, where there is one: what that costs too */
    void (*each)(void* context, const bson_t* document); /* NULL: they are only counted */
    void* context;
} client_query_t;

/* How far a query has been read. All zero before the first batch, and again after the last one. */
typedef struct {
    int64_t cursor, found;
} client_reading_t;

/* Before there are threads; `most` clients at a time. NULL, with a sentence on stderr, when the URI
 * is none or names what the old wire has not. */
clients_t* clients_open(const char* uri, bool old_wire, int most);
/* The same for clients that cost as little as can be, and insert and ping only (client_raw.c). */
clients_t* clients_open_raw(const char* uri, int most);
/* After all clients have been given back. */
void clients_close(clients_t* clients);

/* A client whose server has answered; NULL on an error. The caller gives it back. */
client_t* client_take(clients_t* clients, bson_error_t* error);
void client_give_back(client_t* client);

/* `reply` may be NULL; otherwise it is the caller's to destroy, on an error too. */
bool client_command(client_t* client, const char* database, const bson_t* command, bson_t* reply,
                    bson_error_t* error);
/* Drops the collection, if there is one. */
void client_drop(client_t* client, const client_place_t* place);
bool client_create_index(client_t* client, const client_place_t* place, const bson_t* key,
                         const char* name, bson_error_t* error);

/* The writes are acknowledged: durable with `journaled`, which a server without a journal refuses.
 * Both others return how many documents were found, or made by an upsert. */
bool client_insert(client_t* client, const client_place_t* place, const bson_t* const* documents,
                   int count, bool journaled, bson_error_t* error);
int64_t client_update_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          const bson_t* change, bool upsert, bool journaled, bson_error_t* error);
int64_t client_remove_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          bool journaled, bson_error_t* error);

/* What lies between these is one transaction, of a member of a set, by today's commands alone.
 * Where it should be begun again a function in it, or the commit, fails with CLIENT_CONFLICT; after
 * any failure it is to be aborted. `journaled` is the commit's; that of what lies in it does not
 * count. */
bool client_begin(client_t* client, bool journaled, bson_error_t* error);
bool client_commit(client_t* client, bson_error_t* error);
void client_abort(client_t* client);

/* The next batch; returns how many documents it has. `reading->cursor` is 0 after the last one. */
int64_t client_read(client_t* client, const client_query_t* query, client_reading_t* reading,
                    bson_error_t* error);
/* All batches; returns how many documents there were. */
int64_t client_find(client_t* client, const client_query_t* query, bson_error_t* error);
