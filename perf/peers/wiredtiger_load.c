/* WiredTiger as a library, with a log that each commit syncs. A session and a cursor for each
 * thread; commits that come together share a sync. */
#include <stdlib.h>
#include <wiredtiger.h>

#include "embedded_load.h"

static const char* const SETTINGS =
    "create,cache_size=256MB,session_max=300,log=(enabled=true),"
    "transaction_sync=(enabled=true,method=fsync)";
static const char* const TABLE = "table:load";

typedef struct {
    WT_SESSION* session;
    WT_CURSOR* cursor;
} client_t;

static void check(int status, const char* what) {
    if (status != 0) fail(what, wiredtiger_strerror(status));
}

static void* open_database(const char* folder) {
    WT_CONNECTION* database;
    WT_SESSION* session;
    check(wiredtiger_open(folder, NULL, SETTINGS, &database), "open");
    check(database->open_session(database, NULL, NULL, &session), "session");
    check(session->create(session, TABLE, "key_format=Q,value_format=u"), "create");
    check(session->close(session, NULL), "close");
    return database;
}

static void* begin(void* argument) {
    WT_CONNECTION* database = argument;
    client_t* client = calloc(1, sizeof *client);
    check(database->open_session(database, NULL, NULL, &client->session), "session");
    check(client->session->open_cursor(client->session, TABLE, NULL, NULL, &client->cursor),
          "cursor");
    return client;
}

static void insert(void* argument, uint64_t key, const char* text, size_t bytes) {
    client_t* client = argument;
    const WT_ITEM value = {.data = text, .size = bytes};
    client->cursor->set_key(client->cursor, key);
    client->cursor->set_value(client->cursor, &value);
    check(client->cursor->insert(client->cursor), "insert");
}

static void end(void* argument) {
    client_t* client = argument;
    check(client->session->close(client->session, NULL), "close");
    free(client);
}

static void close_database(void* database) {
    WT_CONNECTION* connection = database;
    check(connection->close(connection, NULL), "close");
}

int main(int argc, char** argv) {
    const engine_t engine = {open_database, begin, insert, end, close_database};
    return embedded_main(argc, argv, &engine);
}
