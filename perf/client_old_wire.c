/* What drivers sent before wire version 6, by old_wire.h: writes with getLastError behind them,
 * commands by OP_QUERY. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client_kind.h"
#include "old_wire.h"

enum { NS_BYTES = 256 };

typedef struct {
    client_t base;
    old_wire_t* wire;
} own_t;

static bool open_hosts(clients_t* clients, int most) {
    (void)most;
    const mongoc_host_list_t* hosts = mongoc_uri_get_hosts(clients->uri);
    if (hosts && !hosts->next && !mongoc_uri_get_username(clients->uri) &&
        !mongoc_uri_get_tls(clients->uri))
        return true;
    fprintf(stderr, "%s: --old-wire is for one server, without a user and without TLS\n",
            program_invocation_short_name);
    return false;
}

static void close_hosts(clients_t* clients) {
    (void)clients;
}

static client_t* take(clients_t* clients, bson_error_t* error) {
    const mongoc_host_list_t* host = mongoc_uri_get_hosts(clients->uri);
    old_wire_t* wire = old_wire_connect(host->host, host->port, error);
    if (!wire) return NULL;
    own_t* own = calloc(1, sizeof *own);
    own->base.kind = clients->kind;
    own->wire = wire;
    return &own->base;
}

static void give_back(client_t* client) {
    old_wire_close(((own_t*)client)->wire);
    free(client);
}

static bool command(client_t* client, const char* database, const bson_t* words, bson_t* reply,
                    bson_error_t* error) {
    bson_t answer;
    const bool ok = old_wire_command(((own_t*)client)->wire, database, words, &answer, error);
    if (reply && ok) bson_copy_to(&answer, reply);
    if (reply && !ok) bson_init(reply);
    return ok;
}

/* "database.collection" */
static const char* ns_of(const client_place_t* place, char* ns) {
    if (snprintf(ns, NS_BYTES, "%s.%s", place->database, place->collection) >= NS_BYTES) abort();
    return ns;
}

static bool insert(client_t* client, const client_place_t* place, const bson_t* const* documents,
                   int count, bool journaled, bson_error_t* error) {
    char ns[NS_BYTES];
    return old_wire_insert(((own_t*)client)->wire, ns_of(place, ns), documents, count, journaled,
                           error);
}

/* The oldest have no createIndexes. */
static bool create_index(client_t* client, const client_place_t* place, const bson_t* key,
                         const char* name, bson_error_t* error) {
    const client_place_t indexes = {place->database, "system.indexes"};
    char ns[NS_BYTES];
    bson_t* index = BCON_NEW("ns", BCON_UTF8(ns_of(place, ns)), "key", BCON_DOCUMENT(key), "name",
                             BCON_UTF8(name));
    const bson_t* const documents[] = {index};
    const bool ok = insert(client, &indexes, documents, 1, false, error);
    bson_destroy(index);
    return ok;
}

static int64_t update_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          const bson_t* change, bool upsert, bool journaled, bson_error_t* error) {
    char ns[NS_BYTES];
    return old_wire_update(((own_t*)client)->wire, ns_of(place, ns), filter, change, upsert,
                           journaled, error);
}

static int64_t remove_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          bool journaled, bson_error_t* error) {
    char ns[NS_BYTES];
    return old_wire_remove(((own_t*)client)->wire, ns_of(place, ns), filter, journaled, error);
}

/* How many documents to ask for. One closes the cursor with it, so a batch of one is two, as
 * drivers asked for it. */
static int32_t wanted(const client_query_t* query, int64_t found) {
    if (query->limit == 1) return -1;
    const int64_t left = query->limit > 0 ? query->limit - found : INT32_MAX;
    const int32_t batch = query->batch == 1 ? 2 : query->batch;
    if (batch > 0 && batch < left) return batch;
    return query->limit > 0 ? (int32_t)left : 0;
}

static int64_t read_batch(client_t* client, const client_query_t* query, client_reading_t* reading,
                          bson_error_t* error) {
    old_wire_t* wire = ((own_t*)client)->wire;
    char ns[NS_BYTES];
    ns_of(query->place, ns);
    const int32_t count = wanted(query, reading->found);
    int64_t found;
    if (reading->cursor == 0) {
        bson_t* sorted = query->sort ? BCON_NEW("$query", BCON_DOCUMENT(query->filter), "$orderby",
                                                BCON_DOCUMENT(query->sort))
                                     : NULL;
        found = old_wire_query(wire, ns, sorted ? sorted : query->filter, count, query->each,
                               query->context, &reading->cursor, error);
        if (sorted) bson_destroy(sorted);
    } else {
        found = old_wire_get_more(wire, ns, count, query->each, query->context, &reading->cursor,
                                  error);
    }
    if (found >= 0 && query->limit > 0 && reading->cursor != 0 &&
        reading->found + found >= query->limit) {
        if (!old_wire_kill_cursor(wire, reading->cursor, error)) return -1;
        reading->cursor = 0;
    }
    return found;
}

const client_kind_t CLIENT_OLD_WIRE = {
    open_hosts, close_hosts, take,       give_back, command, create_index, insert,
    update_one, remove_one,  read_batch, NULL,      NULL,    NULL};
