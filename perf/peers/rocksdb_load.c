/* RocksDB: each write synced (sync=1); those that come together share a sync. */
#include <rocksdb/c.h>
#include <stdlib.h>

#include "embedded_load.h"

static rocksdb_writeoptions_t* g_synced;

static void* open_database(const char* folder) {
    char* error = NULL;
    rocksdb_options_t* options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    g_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(g_synced, 1);
    rocksdb_t* db = rocksdb_open(options, folder, &error);
    if (error != NULL) fail("open", error);
    rocksdb_options_destroy(options);
    return db;
}

static void* begin(void* db) {
    return db;
}

static void insert(void* client, uint64_t key, const char* text, size_t bytes) {
    char* error = NULL;
    rocksdb_put(client, g_synced, (const char*)&key, sizeof key, text, bytes, &error);
    if (error != NULL) fail("put", error);
}

static void end(void* client) {
    (void)client;
}

static void close_database(void* db) {
    rocksdb_writeoptions_destroy(g_synced);
    rocksdb_close(db);
}

int main(int argc, char** argv) {
    const engine_t engine = {open_database, begin, insert, end, close_database};
    return embedded_main(argc, argv, &engine);
}
