/* MongoDB's protocol, of today or of old drivers (client.h). A link and its count are two writes:
 * the link is written first, the count second and with the write concern, so that the answer to it
 * says that both are on the disk (a journal keeps their order). A crash between the two leaves a
 * count that is off by one; the public benchmark's SQL has both in one transaction, as this has
 * where one asks for it.
 *
 *     node   {_id: 17, type: 2048, version: 0, time: ..., data: '...'}
 *     link   {_id: {a: 17, t: 123456789, b: 4711}, a: 17, t: 123456789, v: 1, time: ..., ...}
 *            with an index on (a, t, v, time descending) for the lists
 *     count  {_id: {a: 17, t: 123456789}, count: 3, version: 0, time: ...} */
#include <stdio.h>
#include <stdlib.h>

#include "../client.h"
#include "store.h"

const char* const STORE_NAME = "mongodb";
const char* const STORE_ADDRESS =
    "mongodb://127.0.0.1:27017, or any other URI; its database\n"
    "                       linkbench is dropped by load";
const bool STORE_HAS_OLD_WIRE = true, STORE_HAS_CHOICE = true;

struct connection {
    client_t* client;
    bool journaled; /* what a last write is */
    bool transactions;
    bson_error_t error;
};

static const char* const DATABASE = "linkbench";
static const client_place_t NODES = {"linkbench", "node"}, LINKS = {"linkbench", "link"},
                            COUNTS = {"linkbench", "count"};

/* All connections of a phase have one address: its first one opens this, and its last one closes
 * it. Both are made and closed by the thread that starts the others. */
static clients_t* clients;
static int connections;

connection_t* store_connect(const store_options_t* options) {
    const char* address = options->address ? options->address : "mongodb://127.0.0.1:27017";
    if (!clients) clients = clients_open(address, options->old_wire, STORE_CONNECTIONS_MAX);
    if (!clients) return NULL;
    connection_t* connection = calloc(1, sizeof *connection);
    connection->journaled = !options->lazy;
    connection->transactions = options->transactions;
    connection->client = client_take(clients, &connection->error);
    connections++;
    if (connection->client) return connection;
    fprintf(stderr, "linkbench_mongodb: %s: %s\n", address, connection->error.message);
    store_close(connection);
    return NULL;
}

void store_close(connection_t* connection) {
    if (connection->client) client_give_back(connection->client);
    free(connection);
    if (--connections > 0) return;
    clients_close(clients);
    clients = NULL;
}

const char* store_error(connection_t* connection) {
    return connection->error.message;
}

/* What a function of client.h returned, as a store does. */
static int outcome(const connection_t* connection, int64_t rows) {
    if (rows >= 0) return (int)rows;
    const uint32_t code = connection->error.code;
    return code == CLIENT_DUPLICATE_KEY || code == CLIENT_CONFLICT ? STORE_AGAIN : STORE_ERROR;
}

/* Runs a query whose filter is destroyed. */
static int read_rows(connection_t* connection, client_query_t query, bson_t* filter) {
    query.filter = filter;
    const int64_t found = client_find(connection->client, &query, &connection->error);
    bson_destroy(filter);
    return outcome(connection, found);
}

static int insert(connection_t* connection, const client_place_t* place,
                  const bson_t* const* documents, int count) {
    const bool ok = client_insert(connection->client, place, documents, count,
                                  connection->journaled, &connection->error);
    return outcome(connection, ok ? count : -1);
}

/* ---- load ---- */

int store_create(connection_t* connection) {
    bson_t* drop = BCON_NEW("dropDatabase", BCON_INT32(1));
    bson_t* key = BCON_NEW("a", BCON_INT32(1), "t", BCON_INT32(1), "v", BCON_INT32(1), "time",
                           BCON_INT32(-1));
    const bool ok =
        client_command(connection->client, DATABASE, drop, NULL, &connection->error) &&
        client_create_index(connection->client, &LINKS, key, "list", &connection->error);
    bson_destroy(drop);
    bson_destroy(key);
    return outcome(connection, ok ? 0 : -1);
}

/* Inserts documents, which are destroyed. */
static int load(connection_t* connection, const client_place_t* place, bson_t** documents,
                int count) {
    const int made = insert(connection, place, (const bson_t* const*)documents, count);
    for (int i = 0; i < count; i++)
        bson_destroy(documents[i]);
    free(documents);
    return made < 0 ? STORE_ERROR : made;
}

static bson_t* document_of_node(const node_t* node) {
    bson_t* document = bson_new();
    bson_append_int64(document, "_id", 3, node->id);
    bson_append_int32(document, "type", 4, NODE_TYPE);
    bson_append_int64(document, "version", 7, node->version);
    bson_append_date_time(document, "time", 4, node->time);
    bson_append_utf8(document, "data", 4, node->data, node->data_bytes);
    return document;
}

int store_load_nodes(connection_t* connection, const node_t* nodes, int count) {
    bson_t** documents = calloc((size_t)count, sizeof *documents);
    for (int i = 0; i < count; i++)
        documents[i] = document_of_node(&nodes[i]);
    return load(connection, &NODES, documents, count);
}

static void append_link_id(bson_t* document, const char* name, int64_t id1, int type, int64_t id2) {
    bson_t id;
    bson_append_document_begin(document, name, -1, &id);
    bson_append_int64(&id, "a", 1, id1);
    bson_append_int32(&id, "t", 1, type);
    bson_append_int64(&id, "b", 1, id2);
    bson_append_document_end(document, &id);
}

int store_load_links(connection_t* connection, const link_t* links, int count) {
    bson_t** documents = calloc((size_t)count, sizeof *documents);
    for (int i = 0; i < count; i++) {
        const link_t* link = &links[i];
        bson_t* document = documents[i] = bson_new();
        append_link_id(document, "_id", link->id1, link->type, link->id2);
        bson_append_int64(document, "a", 1, link->id1);
        bson_append_int32(document, "t", 1, link->type);
        bson_append_int32(document, "v", 1, link->visibility);
        bson_append_date_time(document, "time", 4, link->time);
        bson_append_int64(document, "version", 7, link->version);
        bson_append_utf8(document, "data", 4, link->data, link->data_bytes);
    }
    return load(connection, &LINKS, documents, count);
}

/* {_id: ...}: the beginning of a count, and what finds it. */
static bson_t* count_of(int64_t id1, int type) {
    return BCON_NEW("_id", "{", "a", BCON_INT64(id1), "t", BCON_INT32(type), "}");
}

int store_load_counts(connection_t* connection, const link_count_t* counts, int count) {
    bson_t** documents = calloc((size_t)count, sizeof *documents);
    for (int i = 0; i < count; i++) {
        bson_t* document = documents[i] = count_of(counts[i].id1, counts[i].type);
        bson_append_int64(document, "count", 5, counts[i].count);
        bson_append_int64(document, "version", 7, 0);
        bson_append_date_time(document, "time", 4, 0);
    }
    return load(connection, &COUNTS, documents, count);
}

/* ---- requests for nodes ---- */

/* {$set: ..., $inc: {version: 1}}: what changes a node or a link. More can be put into `set` until
 * it ends, with time and data. */
static bson_t* begin_change(bson_t* set) {
    bson_t* change = bson_new();
    bson_append_document_begin(change, "$set", 4, set);
    return change;
}

static void end_change(bson_t* change, bson_t* set, int64_t time, const char* data,
                       int data_bytes) {
    bson_append_date_time(set, "time", 4, time);
    bson_append_utf8(set, "data", 4, data, data_bytes);
    bson_append_document_end(change, set);
    BCON_APPEND(change, "$inc", "{", "version", BCON_INT64(1), "}");
}

int store_get_node(connection_t* connection, int64_t id) {
    return read_rows(connection, (client_query_t){.place = &NODES, .limit = 1},
                     BCON_NEW("_id", BCON_INT64(id)));
}

int store_add_node(connection_t* connection, const node_t* node) {
    bson_t* document = document_of_node(node);
    const bson_t* const documents[] = {document};
    const int made = insert(connection, &NODES, documents, 1);
    bson_destroy(document);
    return made;
}

int store_update_node(connection_t* connection, const node_t* node) {
    bson_t set, *change = begin_change(&set), *filter = BCON_NEW("_id", BCON_INT64(node->id));
    end_change(change, &set, node->time, node->data, node->data_bytes);
    const int64_t made = client_update_one(connection->client, &NODES, filter, change, false,
                                           connection->journaled, &connection->error);
    bson_destroy(filter);
    bson_destroy(change);
    return outcome(connection, made);
}

int store_delete_node(connection_t* connection, int64_t id) {
    bson_t* filter = BCON_NEW("_id", BCON_INT64(id));
    const int64_t made = client_remove_one(connection->client, &NODES, filter,
                                           connection->journaled, &connection->error);
    bson_destroy(filter);
    return outcome(connection, made);
}

/* ---- requests for links ---- */

int store_get_links(connection_t* connection, int64_t id1, int type, const int64_t* id2,
                    int count) {
    bson_t *filter = bson_new(), among, ids;
    bson_append_document_begin(filter, "_id", 3, &among);
    bson_append_array_begin(&among, "$in", 3, &ids);
    for (int i = 0; i < count; i++) {
        char buffer[16];
        const char* key;
        bson_uint32_to_string((uint32_t)i, &key, buffer, sizeof buffer);
        append_link_id(&ids, key, id1, type, id2[i]);
    }
    bson_append_array_end(&among, &ids);
    bson_append_document_end(filter, &among);
    return read_rows(connection, (client_query_t){.place = &LINKS}, filter);
}

int store_list_links(connection_t* connection, int64_t id1, int type, int64_t newest) {
    bson_t* filter =
        BCON_NEW("a", BCON_INT64(id1), "t", BCON_INT32(type), "v", BCON_INT32(VISIBLE));
    if (newest != INT64_MAX) BCON_APPEND(filter, "time", "{", "$lte", BCON_DATE_TIME(newest), "}");
    bson_t* sort = BCON_NEW("time", BCON_INT32(-1));
    /* All in one reply, as from the others. */
    const int found = read_rows(
        connection,
        (client_query_t){.place = &LINKS, .sort = sort, .limit = LIST_LIMIT, .batch = LIST_LIMIT},
        filter);
    bson_destroy(sort);
    return found;
}

int store_count_links(connection_t* connection, int64_t id1, int type) {
    return read_rows(connection, (client_query_t){.place = &COUNTS, .limit = 1},
                     count_of(id1, type));
}

/* The second write of a link's change, and the one whose answer says that both are on the disk. */
static int add_to_count(connection_t* connection, const link_t* link, int64_t more) {
    bson_t* filter = count_of(link->id1, link->type);
    bson_t* change = BCON_NEW("$inc", "{", "count", BCON_INT64(more), "version", BCON_INT64(1), "}",
                              "$set", "{", "time", BCON_DATE_TIME(link->time), "}");
    const int64_t made = client_update_one(connection->client, &COUNTS, filter, change, true,
                                           connection->journaled, &connection->error);
    bson_destroy(filter);
    bson_destroy(change);
    return outcome(connection, made);
}

/* Counts it, also where another client counts for the first time at the same moment. */
static int count_link(connection_t* connection, const link_t* link, int64_t more) {
    int made = add_to_count(connection, link, more);
    while (made == STORE_AGAIN && !connection->transactions)
        made = add_to_count(connection, link, more);
    return made;
}

/* Both writes, in a transaction where the connection has them. */
static int write_both(connection_t* connection, const link_t* link,
                      int (*write)(connection_t* connection, const link_t* link)) {
    if (!connection->transactions) return write(connection, link);
    if (!client_begin(connection->client, connection->journaled, &connection->error))
        return outcome(connection, -1);
    int made = write(connection, link);
    if (made >= 0 && !client_commit(connection->client, &connection->error))
        made = outcome(connection, -1);
    if (made < 0) client_abort(connection->client);
    return made;
}

static int add_link(connection_t* connection, const link_t* link) {
    bson_t set, *change = begin_change(&set);
    bson_append_int64(&set, "a", 1, link->id1);
    bson_append_int32(&set, "t", 1, link->type);
    bson_append_int32(&set, "v", 1, VISIBLE);
    end_change(change, &set, link->time, link->data, link->data_bytes);
    bson_t* command = BCON_NEW("findAndModify", "link");
    bson_t filter;
    bson_append_document_begin(command, "query", 5, &filter);
    append_link_id(&filter, "_id", link->id1, link->type, link->id2);
    bson_append_document_end(command, &filter);
    BCON_APPEND(command, "update", BCON_DOCUMENT(change), "upsert", BCON_BOOL(true), "fields", "{",
                "v", BCON_INT32(1), "_id", BCON_INT32(0), "}");
    bson_t reply;
    const bool ok =
        client_command(connection->client, DATABASE, command, &reply, &connection->error);
    bson_iter_t top, before;
    const bool was_visible = ok && bson_iter_init(&top, &reply) &&
                             bson_iter_find_descendant(&top, "value.v", &before) &&
                             bson_iter_as_int64(&before) == VISIBLE;
    bson_destroy(&reply);
    bson_destroy(command);
    bson_destroy(change);
    if (!ok) return outcome(connection, -1);
    return count_link(connection, link, !was_visible);
}

int store_add_link(connection_t* connection, const link_t* link) {
    return write_both(connection, link, add_link);
}

/* The write of a link that is there, visible as far as it must be so now. */
static int change_link(connection_t* connection, const link_t* link, const bson_t* change,
                       bool only_visible, bool journaled) {
    bson_t* filter = bson_new();
    append_link_id(filter, "_id", link->id1, link->type, link->id2);
    if (only_visible) bson_append_int32(filter, "v", 1, VISIBLE);
    const int64_t made = client_update_one(connection->client, &LINKS, filter, change, false,
                                           journaled, &connection->error);
    bson_destroy(filter);
    return outcome(connection, made);
}

int store_update_link(connection_t* connection, const link_t* link) {
    bson_t set, *change = begin_change(&set);
    end_change(change, &set, link->time, link->data, link->data_bytes);
    const int made = change_link(connection, link, change, false, connection->journaled);
    bson_destroy(change);
    return made;
}

static int delete_link(connection_t* connection, const link_t* link) {
    bson_t* change = BCON_NEW("$set", "{", "v", BCON_INT32(HIDDEN), "}");
    const int hidden = change_link(connection, link, change, true, false);
    bson_destroy(change);
    if (hidden <= 0) return hidden;
    return count_link(connection, link, -1);
}

int store_delete_link(connection_t* connection, const link_t* link) {
    return write_both(connection, link, delete_link);
}

/* ---- check ---- */

static int64_t member(const bson_t* document, const char* name) {
    bson_iter_t found;
    return bson_iter_init_find(&found, document, name) ? bson_iter_as_int64(&found) : 0;
}

static void add_count(void* sum, const bson_t* document) {
    *(int64_t*)sum += member(document, "count");
}

int store_check(connection_t* connection, int64_t* visible, int64_t* counted) {
    bson_t *command = BCON_NEW("count", "link", "query", "{", "v", BCON_INT32(VISIBLE), "}"), reply;
    const bool ok =
        client_command(connection->client, DATABASE, command, &reply, &connection->error);
    *visible = ok ? member(&reply, "n") : 0;
    *counted = 0;
    bson_destroy(&reply);
    bson_destroy(command);
    if (!ok) return outcome(connection, -1);
    const int found = read_rows(
        connection, (client_query_t){.place = &COUNTS, .each = add_count, .context = counted},
        bson_new());
    return found < 0 ? found : 0;
}
