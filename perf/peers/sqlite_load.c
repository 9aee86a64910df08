/* SQLite in WAL mode, synchronous=FULL: each commit is synced. A connection for each thread; they
 * alternate. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "embedded_load.h"

static char g_path[4096];

typedef struct {
    sqlite3* db;
    sqlite3_stmt* insert;
} connection_t;

static void run(sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql, sqlite3_errmsg(db));
}

static sqlite3* new_connection(void) {
    sqlite3* db = NULL;
    if (sqlite3_open(g_path, &db) != SQLITE_OK) fail("open", g_path);
    sqlite3_busy_timeout(db, 60000);
    run(db, "pragma synchronous=full");
    return db;
}

static void* begin(void* unused) {
    (void)unused;
    connection_t* own = calloc(1, sizeof *own);
    own->db = new_connection();
    if (sqlite3_prepare_v2(own->db, "insert into load values (?, ?)", -1, &own->insert, NULL) !=
        SQLITE_OK)
        fail("prepare", sqlite3_errmsg(own->db));
    return own;
}

static void* open_database(const char* folder) {
    snprintf(g_path, sizeof g_path, "%s/db", folder);
    /* Once: two connections that ask for another mode at a time are not made to wait. */
    sqlite3* db = new_connection();
    run(db, "pragma journal_mode=wal");
    run(db, "create table if not exists load (id integer primary key, text text)");
    return db;
}

static void insert(void* client, uint64_t key, const char* text, size_t bytes) {
    connection_t* own = client;
    sqlite3_bind_int64(own->insert, 1, (sqlite3_int64)key);
    sqlite3_bind_text(own->insert, 2, text, (int)bytes, SQLITE_STATIC);
    if (sqlite3_step(own->insert) != SQLITE_DONE) fail("insert", sqlite3_errmsg(own->db));
    sqlite3_reset(own->insert);
}

static void end(void* client) {
    connection_t* own = client;
    sqlite3_finalize(own->insert);
    sqlite3_close(own->db);
    free(own);
}

static void close_database(void* db) {
    sqlite3_close(db);
}

int main(int argc, char** argv) {
    const engine_t engine = {open_database, begin, insert, end, close_database};
    return embedded_main(argc, argv, &engine);
}
