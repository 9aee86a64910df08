/* MongoDB's protocol, by libmongoc. There is no transaction over two documents: the link is written
 * first, the count second and with the write concern, so that the answer to it says that both are
 * on the disk (a journal keeps their order). A crash between the two leaves a count that is off by
 * one; the public benchmark's SQL has that in one transaction.
 *
 *     node   {_id: 17, type: 2048, version: 0, time: ..., data: '...'}
 *     link   {_id: {a: 17, t: 123456789, b: 4711}, a: 17, t: 123456789, v: 1, time: ..., ...}
 *            with an index on (a, t, v, time descending) for the lists
 *     count  {_id: {a: 17, t: 123456789}, count: 3, version: 0, time: ...} */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mongo.h"
#include "store.h"

const char* const STORE_NAME = "mongodb";
const char* const STORE_ADDRESS =
    "mongodb://127.0.0.1:27017, or any other URI; its database\n"
    "                       linkbench is dropped by load";

enum { DUPLICATE_KEY = 11000 };

struct connection {
    mongoc_client_t* client;
    bson_t plain, durable; /* options with the write concern of a first and of a last write */
    bson_error_t error;
};

static const char* const DATABASE = "linkbench";

static void append_concern(bson_t* options, bool journaled) {
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    if (journaled) mongoc_write_concern_set_journal(concern, true);
    bson_init(options);
    mongoc_write_concern_append(concern, options);
    mongoc_write_concern_destroy(concern);
}

connection_t* store_connect(const char* address, const char* engine, bool lazy) {
    (void)engine;
    if (!address) address = "mongodb://127.0.0.1:27017";
    static bool begun; /* the first connection is made before there are threads */
    if (!begun) {
        mongo_begin();
        begun = true;
    }
    mongoc_uri_t* uri = mongo_uri(address);
    if (!uri) return NULL;
    connection_t* connection = calloc(1, sizeof *connection);
    connection->client = mongoc_client_new_from_uri(uri);
    mongoc_uri_destroy(uri);
    append_concern(&connection->plain, false);
    append_concern(&connection->durable, !lazy);
    bson_t* ping = BCON_NEW("ping", BCON_INT32(1));
    const bool ok = mongoc_client_command_simple(connection->client, "admin", ping, NULL, NULL,
                                                 &connection->error);
    bson_destroy(ping);
    if (ok) return connection;
    fprintf(stderr, "linkbench_mongodb: %s: %s\n", address, connection->error.message);
    store_close(connection);
    return NULL;
}

void store_close(connection_t* connection) {
    mongoc_client_destroy(connection->client);
    bson_destroy(&connection->plain);
    bson_destroy(&connection->durable);
    free(connection);
}

const char* store_error(connection_t* connection) {
    return connection->error.message;
}

static int outcome(const connection_t* connection, bool ok, int64_t rows) {
    if (ok) return (int)rows;
    return connection->error.code == DUPLICATE_KEY ? STORE_AGAIN : STORE_ERROR;
}

static int64_t member(const bson_t* reply, const char* name) {
    bson_iter_t found;
    return bson_iter_init_find(&found, reply, name) ? bson_iter_as_int64(&found) : 0;
}

/* Whether a reply has the error of a write, which then is the connection's. */
static bool keep_write_error(connection_t* connection, const bson_t* reply) {
    bson_iter_t top, found;
    if (!bson_iter_init(&top, reply) ||
        !bson_iter_find_descendant(&top, "writeErrors.0.code", &found))
        return false;
    const uint32_t code = (uint32_t)bson_iter_as_int64(&found);
    const bool said = bson_iter_init(&top, reply) &&
                      bson_iter_find_descendant(&top, "writeErrors.0.errmsg", &found);
    bson_set_error(&connection->error, MONGOC_ERROR_SERVER, code, "%s",
                   said ? bson_iter_utf8(&found, NULL) : "a write failed");
    return true;
}

/* Runs a write command, which is destroyed, with the write concern in `options`; rows by the member
 * of the reply. */
static int write_rows(connection_t* connection, bson_t* command, const bson_t* options,
                      const char* rows) {
    bson_t reply;
    bson_concat(command, options);
    const bool ok = mongoc_client_command_simple(connection->client, DATABASE, command, NULL,
                                                 &reply, &connection->error) &&
                    !keep_write_error(connection, &reply);
    const int made = outcome(connection, ok, ok ? member(&reply, rows) : 0);
    bson_destroy(&reply);
    bson_destroy(command);
    return made;
}

/* How many documents a batch in a reply has, and the cursor that has more; 0: none. */
static int64_t count_batch(const bson_t* reply, const char* batch, int* rows) {
    bson_iter_t top, found, documents;
    if (bson_iter_init(&top, reply) && bson_iter_find_descendant(&top, batch, &found) &&
        bson_iter_recurse(&found, &documents)) {
        while (bson_iter_next(&documents))
            ++*rows;
    }
    return bson_iter_init(&top, reply) && bson_iter_find_descendant(&top, "cursor.id", &found)
               ? bson_iter_as_int64(&found)
               : 0;
}

/* Runs a find, which is destroyed. As a plain command: with a cursor of the
 * client a request took half as much of the processor again in the client. */
static int read_rows(connection_t* connection, const char* collection, bson_t* find) {
    const char* batch = "cursor.firstBatch";
    int rows = 0;
    for (;;) {
        bson_t reply;
        const bool ok = mongoc_client_command_simple(connection->client, DATABASE, find, NULL,
                                                     &reply, &connection->error);
        const int64_t cursor = ok ? count_batch(&reply, batch, &rows) : 0;
        bson_destroy(&reply);
        bson_destroy(find);
        if (cursor == 0) return outcome(connection, ok, rows);
        find = BCON_NEW("getMore", BCON_INT64(cursor), "collection", BCON_UTF8(collection));
        batch = "cursor.nextBatch";
    }
}

/* ---- load ---- */

int store_create(connection_t* connection) {
    bson_t* drop = BCON_NEW("dropDatabase", BCON_INT32(1));
    bool ok = mongoc_client_command_simple(connection->client, DATABASE, drop, NULL, NULL,
                                           &connection->error);
    bson_destroy(drop);
    bson_t* indexes = BCON_NEW("createIndexes", "link", "indexes", "[", "{", "key", "{", "a",
                               BCON_INT32(1), "t", BCON_INT32(1), "v", BCON_INT32(1), "time",
                               BCON_INT32(-1), "}", "name", "list", "}", "]");
    ok = ok && mongoc_client_command_simple(connection->client, DATABASE, indexes, NULL, NULL,
                                            &connection->error);
    bson_destroy(indexes);
    return outcome(connection, ok, 0);
}

static int load(connection_t* connection, const char* name, bson_t** documents, int count) {
    mongoc_collection_t* collection =
        mongoc_client_get_collection(connection->client, DATABASE, name);
    const bool ok =
        mongoc_collection_insert_many(collection, (const bson_t**)documents, (size_t)count,
                                      &connection->durable, NULL, &connection->error);
    mongoc_collection_destroy(collection);
    for (int i = 0; i < count; i++)
        bson_destroy(documents[i]);
    free(documents);
    return ok ? count : STORE_ERROR;
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
    return load(connection, "node", documents, count);
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
    return load(connection, "link", documents, count);
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
    return load(connection, "count", documents, count);
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
    return read_rows(connection, "node",
                     BCON_NEW("find", "node", "filter", "{", "_id", BCON_INT64(id), "}", "limit",
                              BCON_INT32(1), "singleBatch", BCON_BOOL(true)));
}

int store_add_node(connection_t* connection, const node_t* node) {
    bson_t* document = document_of_node(node);
    const int made = write_rows(
        connection, BCON_NEW("insert", "node", "documents", "[", BCON_DOCUMENT(document), "]"),
        &connection->durable, "n");
    bson_destroy(document);
    return made;
}

int store_update_node(connection_t* connection, const node_t* node) {
    bson_t set, *change = begin_change(&set);
    end_change(change, &set, node->time, node->data, node->data_bytes);
    const int made =
        write_rows(connection,
                   BCON_NEW("update", "node", "updates", "[", "{", "q", "{", "_id",
                            BCON_INT64(node->id), "}", "u", BCON_DOCUMENT(change), "}", "]"),
                   &connection->durable, "n");
    bson_destroy(change);
    return made;
}

int store_delete_node(connection_t* connection, int64_t id) {
    return write_rows(connection,
                      BCON_NEW("delete", "node", "deletes", "[", "{", "q", "{", "_id",
                               BCON_INT64(id), "}", "limit", BCON_INT32(1), "}", "]"),
                      &connection->durable, "n");
}

/* ---- requests for links ---- */

int store_get_links(connection_t* connection, int64_t id1, int type, const int64_t* id2,
                    int count) {
    bson_t* find = BCON_NEW("find", "link");
    bson_t filter, among, ids;
    bson_append_document_begin(find, "filter", 6, &filter);
    bson_append_document_begin(&filter, "_id", 3, &among);
    bson_append_array_begin(&among, "$in", 3, &ids);
    for (int i = 0; i < count; i++) {
        char buffer[16];
        const char* key;
        bson_uint32_to_string((uint32_t)i, &key, buffer, sizeof buffer);
        append_link_id(&ids, key, id1, type, id2[i]);
    }
    bson_append_array_end(&among, &ids);
    bson_append_document_end(&filter, &among);
    bson_append_document_end(find, &filter);
    return read_rows(connection, "link", find);
}

int store_list_links(connection_t* connection, int64_t id1, int type, int64_t newest) {
    bson_t* find = BCON_NEW("find", "link");
    bson_t filter;
    bson_append_document_begin(find, "filter", 6, &filter);
    BCON_APPEND(&filter, "a", BCON_INT64(id1), "t", BCON_INT32(type), "v", BCON_INT32(VISIBLE));
    if (newest != INT64_MAX) BCON_APPEND(&filter, "time", "{", "$lte", BCON_DATE_TIME(newest), "}");
    bson_append_document_end(find, &filter);
    /* All in one reply, as from the others. */
    BCON_APPEND(find, "sort", "{", "time", BCON_INT32(-1), "}", "limit", BCON_INT32(LIST_LIMIT),
                "batchSize", BCON_INT32(LIST_LIMIT));
    return read_rows(connection, "link", find);
}

int store_count_links(connection_t* connection, int64_t id1, int type) {
    bson_t* filter = count_of(id1, type);
    const int rows = read_rows(connection, "count",
                               BCON_NEW("find", "count", "filter", BCON_DOCUMENT(filter), "limit",
                                        BCON_INT32(1), "singleBatch", BCON_BOOL(true)));
    bson_destroy(filter);
    return rows;
}

/* The second write of a link's change, and the one whose answer says that both are on the disk. */
static int add_to_count(connection_t* connection, const link_t* link, int64_t more) {
    bson_t* filter = count_of(link->id1, link->type);
    const int made = write_rows(
        connection,
        BCON_NEW("update", "count", "updates", "[", "{", "q", BCON_DOCUMENT(filter), "u", "{",
                 "$inc", "{", "count", BCON_INT64(more), "version", BCON_INT64(1), "}", "$set", "{",
                 "time", BCON_DATE_TIME(link->time), "}", "}", "upsert", BCON_BOOL(true), "}", "]"),
        &connection->durable, "n");
    bson_destroy(filter);
    return made;
}

/* Counts it, also where another client counts for the first time at the same moment. */
static int count_link(connection_t* connection, const link_t* link, int64_t more) {
    int made = STORE_AGAIN;
    while (made == STORE_AGAIN)
        made = add_to_count(connection, link, more);
    return made;
}

int store_add_link(connection_t* connection, const link_t* link) {
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
    const bool ok = mongoc_client_command_simple(connection->client, DATABASE, command, NULL,
                                                 &reply, &connection->error);
    bson_iter_t top, before;
    const bool was_visible = ok && bson_iter_init(&top, &reply) &&
                             bson_iter_find_descendant(&top, "value.v", &before) &&
                             bson_iter_as_int64(&before) == VISIBLE;
    bson_destroy(&reply);
    bson_destroy(command);
    bson_destroy(change);
    if (!ok) return outcome(connection, false, 0);
    return count_link(connection, link, !was_visible);
}

/* The first write of a link that is there; `visible` as far as it must be so now. */
static int change_link(connection_t* connection, const link_t* link, const bson_t* change,
                       bool only_visible, const bson_t* options) {
    bson_t* filter = bson_new();
    append_link_id(filter, "_id", link->id1, link->type, link->id2);
    if (only_visible) bson_append_int32(filter, "v", 1, VISIBLE);
    const int made =
        write_rows(connection,
                   BCON_NEW("update", "link", "updates", "[", "{", "q", BCON_DOCUMENT(filter), "u",
                            BCON_DOCUMENT(change), "}", "]"),
                   options, "n");
    bson_destroy(filter);
    return made;
}

int store_update_link(connection_t* connection, const link_t* link) {
    bson_t set, *change = begin_change(&set);
    end_change(change, &set, link->time, link->data, link->data_bytes);
    const int made = change_link(connection, link, change, false, &connection->durable);
    bson_destroy(change);
    return made;
}

int store_delete_link(connection_t* connection, const link_t* link) {
    bson_t* change = BCON_NEW("$set", "{", "v", BCON_INT32(HIDDEN), "}");
    const int hidden = change_link(connection, link, change, true, &connection->plain);
    bson_destroy(change);
    if (hidden <= 0) return hidden;
    return count_link(connection, link, -1);
}

/* ---- check ---- */

int store_check(connection_t* connection, int64_t* visible, int64_t* counted) {
    bson_t *command = BCON_NEW("count", "link", "query", "{", "v", BCON_INT32(VISIBLE), "}"), reply;
    bool ok = mongoc_client_command_simple(connection->client, DATABASE, command, NULL, &reply,
                                           &connection->error);
    *visible = ok ? member(&reply, "n") : 0;
    bson_destroy(&reply);
    bson_destroy(command);
    mongoc_collection_t* counts =
        mongoc_client_get_collection(connection->client, DATABASE, "count");
    bson_t all = BSON_INITIALIZER;
    mongoc_cursor_t* cursor = mongoc_collection_find_with_opts(counts, &all, NULL, NULL);
    const bson_t* found;
    *counted = 0;
    while (ok && mongoc_cursor_next(cursor, &found))
        *counted += member(found, "count");
    ok = ok && !mongoc_cursor_error(cursor, &connection->error);
    mongoc_cursor_destroy(cursor);
    mongoc_collection_destroy(counts);
    bson_destroy(&all);
    return outcome(connection, ok, 0);
}
