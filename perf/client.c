#include "client.h"

#include <stdlib.h>

#include "client_kind.h"
#include "mongo.h"

static clients_t* open_kind(const char* uri, const client_kind_t* kind, int most) {
    mongo_begin();
    mongoc_uri_t* parsed = mongo_uri(uri);
    if (!parsed) return NULL;
    clients_t* clients = calloc(1, sizeof *clients);
    clients->kind = kind;
    clients->uri = parsed;
    if (clients->kind->open(clients, most)) return clients;
    mongoc_uri_destroy(parsed);
    free(clients);
    return NULL;
}

clients_t* clients_open(const char* uri, bool old_wire, int most) {
    return open_kind(uri, old_wire ? &CLIENT_OLD_WIRE : &CLIENT_MONGOC, most);
}

clients_t* clients_open_raw(const char* uri, int most) {
    return open_kind(uri, &CLIENT_RAW, most);
}

void clients_close(clients_t* clients) {
    clients->kind->close(clients);
    mongoc_uri_destroy(clients->uri);
    free(clients);
}

client_t* client_take(clients_t* clients, bson_error_t* error) {
    client_t* client = clients->kind->take(clients, error);
    if (!client) return NULL;
    bson_t* ping = BCON_NEW("ping", BCON_INT32(1));
    const bool answered = client_command(client, "admin", ping, NULL, error);
    bson_destroy(ping);
    if (answered) return client;
    client_give_back(client);
    return NULL;
}

void client_give_back(client_t* client) {
    client->kind->give_back(client);
}

bool client_command(client_t* client, const char* database, const bson_t* command, bson_t* reply,
                    bson_error_t* error) {
    return client->kind->command(client, database, command, reply, error);
}

void client_drop(client_t* client, const client_place_t* place) {
    bson_t* command = BCON_NEW("drop", BCON_UTF8(place->collection));
    bson_error_t ignored; /* it fails when there is none yet */
    client_command(client, place->database, command, NULL, &ignored);
    bson_destroy(command);
}

bool client_create_index(client_t* client, const client_place_t* place, const bson_t* key,
                         const char* name, bson_error_t* error) {
    return client->kind->create_index(client, place, key, name, error);
}

bool client_insert(client_t* client, const client_place_t* place, const bson_t* const* documents,
                   int count, bool journaled, bson_error_t* error) {
    return client->kind->insert(client, place, documents, count, journaled, error);
}

int64_t client_update_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          const bson_t* change, bool upsert, bool journaled, bson_error_t* error) {
    return client->kind->update_one(client, place, filter, change, upsert, journaled, error);
}

int64_t client_remove_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          bool journaled, bson_error_t* error) {
    return client->kind->remove_one(client, place, filter, journaled, error);
}

bool client_begin(client_t* client, bool journaled, bson_error_t* error) {
    return client->kind->begin(client, journaled, error);
}

bool client_commit(client_t* client, bson_error_t* error) {
    return client->kind->commit(client, error);
}

void client_abort(client_t* client) {
    client->kind->abort(client);
}

int64_t client_read(client_t* client, const client_query_t* query, client_reading_t* reading,
                    bson_error_t* error) {
    const int64_t found = client->kind->read(client, query, reading, error);
    if (found < 0) reading->cursor = 0;
    reading->found = reading->cursor == 0 ? 0 : reading->found + found;
    return found;
}

int64_t client_find(client_t* client, const client_query_t* query, bson_error_t* error) {
    client_reading_t reading = {0};
    int64_t all = 0;
    do {
        const int64_t found = client_read(client, query, &reading, error);
        if (found < 0) return -1;
        all += found;
    } while (reading.cursor != 0);
    return all;
}
