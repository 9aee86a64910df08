/* LMDB: a transaction for each insert, synced when it is committed. Writers alternate. */
#include <lmdb.h>
#include <stdlib.h>

#include "embedded_load.h"

static MDB_dbi g_table;

static void check(int code, const char* what) {
    if (code != 0) fail(what, mdb_strerror(code));
}

static void* open_database(const char* folder) {
    MDB_env* env;
    MDB_txn* txn;
    check(mdb_env_create(&env), "create");
    check(mdb_env_set_mapsize(env, (size_t)4 << 30), "size");
    check(mdb_env_set_maxreaders(env, 300), "readers");
    check(mdb_env_open(env, folder, 0, 0600), "open");
    check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    check(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &g_table), "table");
    check(mdb_txn_commit(txn), "commit");
    return env;
}

static void* begin(void* db) {
    return db;
}

static void insert(void* client, uint64_t key, const char* text, size_t bytes) {
    MDB_txn* txn;
    MDB_val name = {sizeof key, &key}, value = {bytes, (void*)text};
    check(mdb_txn_begin(client, NULL, 0, &txn), "begin");
    check(mdb_put(txn, g_table, &name, &value, 0), "put");
    check(mdb_txn_commit(txn), "commit");
}

static void end(void* client) {
    (void)client;
}

static void close_database(void* db) {
    mdb_env_close(db);
}

int main(int argc, char** argv) {
    const engine_t engine = {open_database, begin, insert, end, close_database};
    return embedded_main(argc, argv, &engine);
}
