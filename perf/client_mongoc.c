/* Today's commands, by libmongoc. */
#include <stdlib.h>
#include <string.h>

#include "client_kind.h"

enum { HANDLES_MAX = 8 };

/* libmongoc's own of a collection, with a write concern: making one takes longer than it should for
 * each insert. */
typedef struct {
    client_place_t place;
    bool journaled;
    mongoc_collection_t* collection;
} handle_t;

typedef struct {
    client_t base;
    mongoc_client_pool_t* pool;
    mongoc_client_t* client;
    mongoc_client_session_t* session; /* of all its cursors; NULL: none yet, or none to be had */
    bool session_asked_for;
    bool in_transaction;
    handle_t handles[HANDLES_MAX];
    int handles_made;
} own_t;

static bool open_pool(clients_t* clients, int most) {
    mongoc_uri_set_option_as_int32(clients->uri, MONGOC_URI_MAXPOOLSIZE, most);
    clients->pool = mongoc_client_pool_new(clients->uri);
    return true;
}

static void close_pool(clients_t* clients) {
    mongoc_client_pool_destroy(clients->pool);
}

static client_t* take(clients_t* clients, bson_error_t* error) {
    (void)error;
    own_t* own = calloc(1, sizeof *own);
    own->base.kind = clients->kind;
    own->pool = clients->pool;
    own->client = mongoc_client_pool_pop(clients->pool);
    return &own->base;
}

static void give_back(client_t* client) {
    own_t* own = (own_t*)client;
    for (int i = 0; i < own->handles_made; i++)
        mongoc_collection_destroy(own->handles[i].collection);
    if (own->session) mongoc_client_session_destroy(own->session);
    mongoc_client_pool_push(own->pool, own->client);
    free(own);
}

static mongoc_collection_t* handle_of(own_t* own, const client_place_t* place, bool journaled) {
    for (int i = 0; i < own->handles_made; i++) {
        const handle_t* made = &own->handles[i];
        if (made->journaled == journaled &&
            strcmp(made->place.collection, place->collection) == 0 &&
            strcmp(made->place.database, place->database) == 0)
            return made->collection;
    }
    if (own->handles_made == HANDLES_MAX) abort();
    mongoc_collection_t* collection =
        mongoc_client_get_collection(own->client, place->database, place->collection);
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    if (journaled) mongoc_write_concern_set_journal(concern, true);
    mongoc_collection_set_write_concern(collection, concern);
    mongoc_write_concern_destroy(concern);
    own->handles[own->handles_made++] = (handle_t){*place, journaled, collection};
    return collection;
}

/* Servers without sessions get none. */
static mongoc_client_session_t* session_of(own_t* own, bson_error_t* error) {
    if (!own->session_asked_for)
        own->session = mongoc_client_start_session(own->client, NULL, error);
    own->session_asked_for = true;
    return own->session;
}

/* A cursor belongs to the session that has opened it; without one of its own a client takes any
 * from those that all share. */
static bool command_of_session(own_t* own, const char* database, const bson_t* words, bson_t* reply,
                               bson_error_t* error) {
    bson_t options = BSON_INITIALIZER;
    bson_error_t none;
    bool ok =
        !session_of(own, &none) || mongoc_client_session_append(own->session, &options, error);
    if (ok)
        ok = mongoc_client_command_with_opts(own->client, database, words, NULL, &options, reply,
                                             error);
    else if (reply)
        bson_init(reply);
    bson_destroy(&options);
    return ok;
}

/* What a command in a transaction returned. */
static bool done_in_transaction(bool ok, const bson_t* reply, bson_error_t* error) {
    if (!ok && mongoc_error_has_label(reply, "TransientTransactionError"))
        error->code = CLIENT_CONFLICT;
    return ok;
}

static bool command(client_t* client, const char* database, const bson_t* words, bson_t* reply,
                    bson_error_t* error) {
    own_t* own = (own_t*)client;
    if (!own->in_transaction)
        return mongoc_client_command_simple(own->client, database, words, NULL, reply, error);
    bson_t told;
    const bool ok =
        done_in_transaction(command_of_session(own, database, words, &told, error), &told, error);
    if (reply)
        bson_steal(reply, &told);
    else
        bson_destroy(&told);
    return ok;
}

static bool create_index(client_t* client, const client_place_t* place, const bson_t* key,
                         const char* name, bson_error_t* error) {
    bson_t* words = BCON_NEW("createIndexes", BCON_UTF8(place->collection), "indexes", "[", "{",
                             "key", BCON_DOCUMENT(key), "name", BCON_UTF8(name), "}", "]");
    const bool ok = command(client, place->database, words, NULL, error);
    bson_destroy(words);
    return ok;
}

static bool insert(client_t* client, const client_place_t* place, const bson_t* const* documents,
                   int count, bool journaled, bson_error_t* error) {
    mongoc_collection_t* collection = handle_of((own_t*)client, place, journaled);
    return count == 1 ? mongoc_collection_insert_one(collection, documents[0], NULL, NULL, error)
                      : mongoc_collection_insert_many(collection, (const bson_t**)documents,
                                                      (size_t)count, NULL, NULL, error);
}

/* ---- updates and removes: plain commands, which cost the client less than libmongoc's own ---- */

/* Whether a reply has an error at a path below which there are code and errmsg. */
static bool has_error(const bson_t* reply, const char* code, const char* message,
                      bson_error_t* error) {
    bson_iter_t top, found;
    if (!bson_iter_init(&top, reply) || !bson_iter_find_descendant(&top, code, &found))
        return false;
    const uint32_t number = (uint32_t)bson_iter_as_int64(&found);
    const bool said = bson_iter_init(&top, reply) &&
                      bson_iter_find_descendant(&top, message, &found) &&
                      BSON_ITER_HOLDS_UTF8(&found);
    bson_set_error(error, MONGOC_ERROR_SERVER, number, "%s",
                   said ? bson_iter_utf8(&found, NULL) : "a write failed");
    return true;
}

/* Runs a write command, which is destroyed; rows. */
static int64_t write_rows(client_t* client, const char* database, bson_t* words, bool journaled,
                          bson_error_t* error) {
    bson_t concern, reply;
    if (!((own_t*)client)->in_transaction) {
        bson_append_document_begin(words, "writeConcern", 12, &concern);
        bson_append_int32(&concern, "w", 1, 1);
        if (journaled) bson_append_bool(&concern, "j", 1, true);
        bson_append_document_end(words, &concern);
    }
    int64_t rows = -1;
    bson_iter_t n;
    if (command(client, database, words, &reply, error) &&
        !has_error(&reply, "writeErrors.0.code", "writeErrors.0.errmsg", error) &&
        !has_error(&reply, "writeConcernError.code", "writeConcernError.errmsg", error))
        rows = bson_iter_init_find(&n, &reply, "n") ? bson_iter_as_int64(&n) : 0;
    bson_destroy(&reply);
    bson_destroy(words);
    return rows;
}

static int64_t update_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          const bson_t* change, bool upsert, bool journaled, bson_error_t* error) {
    bson_t* words = BCON_NEW("update", BCON_UTF8(place->collection), "updates", "[", "{", "q",
                             BCON_DOCUMENT(filter), "u", BCON_DOCUMENT(change), "upsert",
                             BCON_BOOL(upsert), "}", "]");
    return write_rows(client, place->database, words, journaled, error);
}

static int64_t remove_one(client_t* client, const client_place_t* place, const bson_t* filter,
                          bool journaled, bson_error_t* error) {
    bson_t* words = BCON_NEW("delete", BCON_UTF8(place->collection), "deletes", "[", "{", "q",
                             BCON_DOCUMENT(filter), "limit", BCON_INT32(1), "}", "]");
    return write_rows(client, place->database, words, journaled, error);
}

/* ---- reads ---- */

static void append_options(bson_t* words, const client_query_t* query) {
    if (query->sort) bson_append_document(words, "sort", 4, query->sort);
    if (query->limit > 0) bson_append_int64(words, "limit", 5, query->limit);
    if (query->limit == 1) bson_append_bool(words, "singleBatch", 11, true);
    if (query->batch > 0) bson_append_int32(words, "batchSize", 9, query->batch);
}

static int64_t read_by_cursor(own_t* own, const client_query_t* query, bson_error_t* error) {
    bson_t options = BSON_INITIALIZER;
    append_options(&options, query);
    mongoc_cursor_t* cursor = mongoc_collection_find_with_opts(handle_of(own, query->place, false),
                                                               query->filter, &options, NULL);
    const bson_t* document;
    int64_t found = 0;
    for (; mongoc_cursor_next(cursor, &document); found++) {
        if (query->each) query->each(query->context, document);
    }
    if (mongoc_cursor_error(cursor, error)) found = -1;
    mongoc_cursor_destroy(cursor);
    bson_destroy(&options);
    return found;
}

static bson_t* words_of(const client_query_t* query, int64_t cursor) {
    const char* collection = query->place->collection;
    bson_t* words = bson_new();
    if (cursor == 0) {
        bson_append_utf8(words, "find", 4, collection, -1);
        bson_append_document(words, "filter", 6, query->filter);
        append_options(words, query);
    } else {
        bson_append_int64(words, "getMore", 7, cursor);
        bson_append_utf8(words, "collection", 10, collection, -1);
        if (query->batch > 0) bson_append_int32(words, "batchSize", 9, query->batch);
    }
    return words;
}

/* How many documents a batch in a reply has. */
static int64_t take_batch(const client_query_t* query, const bson_t* reply, const char* batch) {
    bson_iter_t top, found, documents;
    if (!bson_iter_init(&top, reply) || !bson_iter_find_descendant(&top, batch, &found) ||
        !bson_iter_recurse(&found, &documents))
        return 0;
    int64_t count = 0;
    for (; bson_iter_next(&documents); count++) {
        if (!query->each) continue;
        uint32_t length;
        const uint8_t* data;
        bson_t document;
        bson_iter_document(&documents, &length, &data);
        if (bson_init_static(&document, data, length)) query->each(query->context, &document);
    }
    return count;
}

/* As plain commands: with a cursor of the driver a request took half as much of the processor again
 * in the client. */
static int64_t read_batch(client_t* client, const client_query_t* query, client_reading_t* reading,
                          bson_error_t* error) {
    if (query->by_cursor) return read_by_cursor((own_t*)client, query, error);
    const bool first = reading->cursor == 0;
    bson_t *words = words_of(query, reading->cursor), reply;
    int64_t found = -1;
    const bool done =
        query->limit == 1
            ? command(client, query->place->database, words, &reply, error)
            : command_of_session((own_t*)client, query->place->database, words, &reply, error);
    if (done) {
        bson_iter_t top, cursor;
        found = take_batch(query, &reply, first ? "cursor.firstBatch" : "cursor.nextBatch");
        reading->cursor =
            bson_iter_init(&top, &reply) && bson_iter_find_descendant(&top, "cursor.id", &cursor)
                ? bson_iter_as_int64(&cursor)
                : 0;
    }
    bson_destroy(&reply);
    bson_destroy(words);
    return found;
}

/* ---- transactions ---- */

static bool begin_transaction(client_t* client, bool journaled, bson_error_t* error) {
    own_t* own = (own_t*)client;
    if (!session_of(own, error)) return false;
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    if (journaled) mongoc_write_concern_set_journal(concern, true);
    mongoc_transaction_opt_t* options = mongoc_transaction_opts_new();
    mongoc_transaction_opts_set_write_concern(options, concern);
    own->in_transaction = mongoc_client_session_start_transaction(own->session, options, error);
    mongoc_transaction_opts_destroy(options);
    mongoc_write_concern_destroy(concern);
    return own->in_transaction;
}

static bool commit_transaction(client_t* client, bson_error_t* error) {
    own_t* own = (own_t*)client;
    bson_t reply;
    bool ok = mongoc_client_session_commit_transaction(own->session, &reply, error);
    ok = done_in_transaction(ok, &reply, error);
    bson_destroy(&reply);
    if (ok) own->in_transaction = false;
    return ok;
}

static void abort_transaction(client_t* client) {
    own_t* own = (own_t*)client;
    bson_error_t none;
    if (own->in_transaction) mongoc_client_session_abort_transaction(own->session, &none);
    own->in_transaction = false;
}

const client_kind_t CLIENT_MONGOC = {
    open_pool,        close_pool, take,       give_back,  command,           create_index,
    insert,           update_one, remove_one, read_batch, begin_transaction, commit_transaction,
    abort_transaction};
