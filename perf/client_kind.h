/* What a kind of client is made of: for the files client*.c alone. The functions are those of
 * client.h. */
#pragma once

#include <mongoc/mongoc.h>

#include "client.h"

typedef struct {
    /* Returns false, with a sentence on stderr, when there can be no such clients. */
    bool (*open)(clients_t* clients, int most);
    void (*close)(clients_t* clients);
    client_t* (*take)(clients_t* clients, bson_error_t* error);
    void (*give_back)(client_t* client);
    bool (*command)(client_t* client, const char* database, const bson_t* command, bson_t* reply,
                    bson_error_t* error);
    bool (*create_index)(client_t* client, const client_place_t* place, const bson_t* key,
                         const char* name, bson_error_t* error);
    bool (*insert)(client_t* client, const client_place_t* place, const bson_t* const* documents,
                   int count, bool journaled, bson_error_t* error);
    int64_t (*update_one)(client_t* client, const client_place_t* place, const bson_t* filter,
                          const bson_t* change, bool upsert, bool journaled, bson_error_t* error);
    int64_t (*remove_one)(client_t* client, const client_place_t* place, const bson_t* filter,
                          bool journaled, bson_error_t* error);
    int64_t (*read)(client_t* client, const client_query_t* query, client_reading_t* reading,
                    bson_error_t* error);
    bool (*begin)(client_t* client, bool journaled, bson_error_t* error);
    bool (*commit)(client_t* client, bson_error_t* error);
    void (*abort)(client_t* client);
} client_kind_t;

extern const client_kind_t CLIENT_MONGOC, CLIENT_OLD_WIRE, CLIENT_RAW;

struct clients {
    const client_kind_t* kind;
    mongoc_uri_t* uri;
    mongoc_client_pool_t* pool; /* of CLIENT_MONGOC */
};

/* The first member of what take() returns. */
struct client {
    const client_kind_t* kind;
};
