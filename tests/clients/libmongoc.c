/* libmongoc 1.23 of Debian 12: connects, writes in bulk, reads through cursors, makes indexes,
 * and gets errors with the domain and code that a program in C looks at. */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool holds, const char* what, const bson_error_t* error) {
    printf("%s: %s", holds ? "ok" : "FAIL", what);
    if (!holds && error)
        printf(" (domain %u, code %u: %s)", error->domain, error->code, error->message);
    printf("\n");
    passed += holds;
    failed += !holds;
}

/* The number at a dotted path of a reply, or -1. */
static int64_t number_at(const bson_t* reply, const char* path) {
    bson_iter_t start, found;
    if (!bson_iter_init(&start, reply) || !bson_iter_find_descendant(&start, path, &found))
        return -1;
    return bson_iter_as_int64(&found);
}

static void handshake(mongoc_client_t* client) {
    bson_error_t error = {0};
    bson_t* ping = BCON_NEW("ping", BCON_INT32(1));
    check(mongoc_client_command_simple(client, "admin", ping, NULL, NULL, &error), "ping", &error);
    bson_destroy(ping);
    mongoc_server_description_t* server = mongoc_client_select_server(client, true, NULL, &error);
    check(server && strcmp(mongoc_server_description_type(server), "Standalone") == 0,
          "the server is a standalone", &error);
    mongoc_server_description_destroy(server);
}

static void crud(mongoc_collection_t* c) {
    bson_error_t error = {0};
    bson_t reply;
    bson_t* document = BCON_NEW("_id", BCON_INT32(1), "a", BCON_UTF8("x"));
    check(mongoc_collection_insert_one(c, document, NULL, &reply, &error) &&
              number_at(&reply, "insertedCount") == 1,
          "insert_one counts one", &error);
    bson_destroy(&reply);
    check(!mongoc_collection_insert_one(c, document, NULL, NULL, &error) && error.code == 11000,
          "a second one is a duplicate key", &error);
    bson_destroy(document);

    bson_t* all = bson_new();
    bson_t* filter = BCON_NEW("_id", BCON_INT32(1));
    bson_t* update = BCON_NEW("$set", "{", "b", BCON_INT64(7), "}");
    check(mongoc_collection_update_one(c, filter, update, NULL, &reply, &error) &&
              number_at(&reply, "matchedCount") == 1 && number_at(&reply, "modifiedCount") == 1,
          "update_one matches and modifies one", &error);
    bson_destroy(&reply);
    bson_t* upsert = BCON_NEW("upsert", BCON_BOOL(true));
    bson_t* other = BCON_NEW("_id", BCON_INT32(2));
    bson_t* replacement = BCON_NEW("c", BCON_DOUBLE(0.5));
    check(mongoc_collection_replace_one(c, other, replacement, upsert, &reply, &error) &&
              number_at(&reply, "upsertedId") == 2,
          "replace_one upserts with the id of the filter", &error);
    bson_destroy(&reply);
    check(mongoc_collection_count_documents(c, all, NULL, NULL, NULL, &error) == 2,
          "count_documents", &error);
    check(mongoc_collection_estimated_document_count(c, NULL, NULL, NULL, &error) == 2,
          "estimated_document_count", &error);

    mongoc_find_and_modify_opts_t* options = mongoc_find_and_modify_opts_new();
    mongoc_find_and_modify_opts_set_update(options, update);
    mongoc_find_and_modify_opts_set_flags(options, MONGOC_FIND_AND_MODIFY_RETURN_NEW);
    check(mongoc_collection_find_and_modify_with_opts(c, other, options, &reply, &error) &&
              number_at(&reply, "value.b") == 7,
          "find_and_modify returns the new document", &error);
    bson_destroy(&reply);
    mongoc_find_and_modify_opts_destroy(options);

    bson_t* wrong = BCON_NEW("$nosuch", "{", "a", BCON_INT32(1), "}");
    check(!mongoc_collection_update_one(c, filter, wrong, NULL, NULL, &error) && error.code == 9,
          "an unknown modifier is error 9", &error);
    check(mongoc_collection_delete_many(c, all, NULL, &reply, &error) &&
              number_at(&reply, "deletedCount") == 2,
          "delete_many counts two", &error);
    bson_destroy(&reply);
    bson_t* made[] = {all, filter, update, upsert, other, replacement, wrong};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        bson_destroy(made[i]);
}

static void bulk(mongoc_collection_t* c) {
    bson_error_t error = {0};
    bson_t reply;
    bson_t* unordered = BCON_NEW("ordered", BCON_BOOL(false));
    mongoc_bulk_operation_t* writes =
        mongoc_collection_create_bulk_operation_with_opts(c, unordered);
    for (int i = 0; i < 3000; i++) {
        bson_t* document = BCON_NEW("_id", BCON_INT32(i % 2999), "n", BCON_INT32(i % 10));
        mongoc_bulk_operation_insert_with_opts(writes, document, NULL, NULL);
        bson_destroy(document);
    }
    bson_t* filter = BCON_NEW("n", BCON_INT32(3));
    bson_t* update = BCON_NEW("$inc", "{", "n", BCON_INT32(100), "}");
    mongoc_bulk_operation_update_many_with_opts(writes, filter, update, NULL, NULL);
    uint32_t server = mongoc_bulk_operation_execute(writes, &reply, &error);
    check(!server && error.code == 11000, "one duplicate key fails the bulk", &error);
    check(number_at(&reply, "nInserted") == 2999 && number_at(&reply, "nModified") == 300 &&
              number_at(&reply, "writeErrors.0.index") == 2999,
          "an unordered bulk does all the others", NULL);
    bson_destroy(&reply);
    mongoc_bulk_operation_destroy(writes);
    bson_destroy(unordered);
    bson_destroy(filter);
    bson_destroy(update);
}

static void cursors(mongoc_collection_t* c) {
    bson_error_t error = {0};
    bson_t* filter = BCON_NEW("_id", "{", "$gte", BCON_INT32(1000), "}");
    bson_t* options = BCON_NEW("sort", "{", "_id", BCON_INT32(-1), "}", "batchSize",
                               BCON_INT32(100), "projection", "{", "_id", BCON_INT32(1), "}");
    mongoc_cursor_t* cursor = mongoc_collection_find_with_opts(c, filter, options, NULL);
    const bson_t* document;
    int64_t expected = 2998;
    while (mongoc_cursor_next(cursor, &document) && number_at(document, "_id") == expected)
        expected--;
    check(!mongoc_cursor_error(cursor, &error) && expected == 999,
          "a sorted cursor of 20 batches is complete and in order", &error);
    mongoc_cursor_destroy(cursor);

    cursor = mongoc_collection_find_with_opts(c, filter, options, NULL);
    check(mongoc_cursor_next(cursor, &document), "the first document of a cursor", NULL);
    mongoc_cursor_destroy(cursor); /* sends killCursors */

    bson_t* pipeline = BCON_NEW("pipeline", "[", "{", "$group", "{", "_id", "$n", "sum", "{",
                                "$sum", BCON_INT32(1), "}", "}", "}", "{", "$sort", "{", "_id",
                                BCON_INT32(1), "}", "}", "]");
    cursor = mongoc_collection_aggregate(c, MONGOC_QUERY_NONE, pipeline, NULL, NULL);
    int64_t groups = 0, sum = 0;
    while (mongoc_cursor_next(cursor, &document)) {
        groups++;
        sum += number_at(document, "sum");
    }
    check(!mongoc_cursor_error(cursor, &error) && groups == 10 && sum == 2999, "aggregate", &error);
    mongoc_cursor_destroy(cursor);
    bson_destroy(filter);
    bson_destroy(options);
    bson_destroy(pipeline);
}

static void indexes(mongoc_database_t* db, mongoc_collection_t* c) {
    bson_error_t error = {0};
    bson_t* create = BCON_NEW("createIndexes", mongoc_collection_get_name(c), "indexes", "[", "{",
                              "key", "{", "n", BCON_INT32(1), "}", "name", "n_1", "}", "]");
    check(mongoc_database_write_command_with_opts(db, create, NULL, NULL, &error), "createIndexes",
          &error);
    mongoc_cursor_t* cursor = mongoc_collection_find_indexes_with_opts(c, NULL);
    const bson_t* document;
    int count = 0;
    while (mongoc_cursor_next(cursor, &document))
        count++;
    check(!mongoc_cursor_error(cursor, &error) && count == 2, "two indexes are listed", &error);
    mongoc_cursor_destroy(cursor);
    check(mongoc_collection_drop_index(c, "n_1", &error), "drop_index", &error);
    check(!mongoc_collection_drop_index(c, "n_1", &error) && error.code == 27,
          "a second drop_index is error 27", &error);
    char** names = mongoc_database_get_collection_names_with_opts(db, NULL, &error);
    bool found = false;
    for (char** name = names; name && *name; name++)
        found |= strcmp(*name, mongoc_collection_get_name(c)) == 0;
    check(found, "the collection is listed", &error);
    bson_strfreev(names);
    bson_destroy(create);
}

static void write_concerns(mongoc_collection_t* c) {
    bson_error_t error = {0};
    bson_t* document = bson_new();
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    bson_t* options = bson_new();
    mongoc_write_concern_set_journal(concern, true);
    mongoc_write_concern_append(concern, options);
    check(mongoc_collection_insert_one(c, document, options, NULL, &error), "j: true", &error);
    bson_reinit(options);
    mongoc_write_concern_set_journal(concern, false);
    mongoc_write_concern_set_w(concern, 3);
    mongoc_write_concern_append(concern, options);
    check(!mongoc_collection_insert_one(c, document, options, NULL, &error),
          "w: 3 is refused by a server that is not replicated", &error);
    bson_reinit(options);
    mongoc_write_concern_set_w(concern, MONGOC_WRITE_CONCERN_W_UNACKNOWLEDGED);
    mongoc_write_concern_append(concern, options);
    check(mongoc_collection_insert_one(c, document, options, NULL, &error), "w: 0", &error);
    mongoc_write_concern_destroy(concern);
    bson_destroy(options);
    bson_destroy(document);
}

static void files(mongoc_client_t* client) {
    bson_error_t error = {0};
    mongoc_gridfs_t* gridfs = mongoc_client_get_gridfs(client, "libmongoc", "fs", &error);
    check(gridfs != NULL, "GridFS opens and makes its indexes", &error);
    if (!gridfs) return;
    enum { SIZE = 600000 };
    char* content = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        content[i] = (char)(i * 7 % 251);
    mongoc_gridfs_file_opt_t options = {.filename = "a"};
    mongoc_gridfs_file_t* file = mongoc_gridfs_create_file(gridfs, &options);
    mongoc_iovec_t piece = {.iov_base = content, .iov_len = SIZE};
    check(mongoc_gridfs_file_writev(file, &piece, 1, 0) == SIZE && mongoc_gridfs_file_save(file),
          "a file is written", NULL);
    mongoc_gridfs_file_destroy(file);
    file = mongoc_gridfs_find_one_by_filename(gridfs, "a", &error);
    char* back = calloc(1, SIZE);
    piece.iov_base = back;
    check(file && mongoc_gridfs_file_readv(file, &piece, 1, SIZE, 0) == SIZE &&
              memcmp(content, back, SIZE) == 0,
          "and read back", &error);
    if (file) mongoc_gridfs_file_destroy(file);
    mongoc_gridfs_destroy(gridfs);
    free(content);
    free(back);
}

int main(void) {
    mongoc_init();
    mongoc_client_t* client = mongoc_client_new(getenv("MONGOD_URI"));
    if (!client) {
        fprintf(stderr, "client_libmongoc: set MONGOD_URI to the address of a server\n");
        return 2;
    }
    mongoc_client_set_error_api(client, MONGOC_ERROR_API_VERSION_2);
    mongoc_database_t* db = mongoc_client_get_database(client, "libmongoc");
    mongoc_collection_t* c = mongoc_database_get_collection(db, "c");
    handshake(client);
    crud(c);
    bulk(c);
    cursors(c);
    indexes(db, c);
    write_concerns(c);
    files(client);
    bson_error_t error = {0};
    check(mongoc_database_drop(db, &error), "the database is dropped", &error);
    mongoc_collection_destroy(c);
    mongoc_database_destroy(db);
    mongoc_client_destroy(client);
    mongoc_cleanup();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
