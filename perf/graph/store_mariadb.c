/* MariaDB with InnoDB or MyRocks, by MariaDB Connector/C. What a link changes in its count is one
 * transaction, sent as one text of several statements. */
#include <inttypes.h>
#include <mariadb/mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_store.h"

const char* const STORE_NAME = "mariadb";
const char* const STORE_ADDRESS =
    "path of the server's Unix socket; its database linkbench is\n"
    "                       dropped by load; --engine innodb or "
    "rocksdb";
const bool STORE_HAS_OLD_WIRE = false, STORE_HAS_CHOICE = false;

enum { ERROR_BYTES = 512, DEADLOCK = 1213, LOCK_WAIT = 1205, STATEMENT_BYTES = 4096 };

struct connection {
    MYSQL* server;
    const char* engine;
    bool lazy;
    char error[ERROR_BYTES];
};

static const char* const TABLES[] = {
    "drop database if exists linkbench",
    "create database linkbench character set latin1",
    "use linkbench",
    "create table nodes (id bigint primary key, type int not null, version bigint not null, time "
    "bigint not null, data varchar(512) not null)",
    "create table links (id1 bigint not null, id2 bigint not null, type bigint not null, "
    "visibility tinyint not null, time bigint not null, version bigint not null, data varchar(512) "
    "not null, primary key (type, id1, id2), key list (id1, type, visibility, time))",
    "create table counts (id1 bigint not null, type bigint not null, count bigint not null, "
    "version bigint not null, time bigint not null, primary key (id1, type))",
};
enum { TABLE_STATEMENTS = sizeof TABLES / sizeof TABLES[0] };

static int failed(connection_t* connection) {
    const unsigned code = mysql_errno(connection->server);
    snprintf(connection->error, sizeof connection->error, "%s", mysql_error(connection->server));
    return code == DEADLOCK || code == LOCK_WAIT ? STORE_AGAIN : STORE_ERROR;
}

/* Sends a text and reads all of the answer. The rows are those of the last statement that was
 * given back or changed any. */
static int send_text(connection_t* connection, const char* text, size_t bytes) {
    if (mysql_real_query(connection->server, text, bytes) != 0) return failed(connection);
    int rows = 0, status;
    do {
        MYSQL_RES* result = mysql_store_result(connection->server);
        if (result) {
            rows = (int)mysql_num_rows(result);
            mysql_free_result(result);
        } else if (mysql_field_count(connection->server) != 0) {
            return failed(connection);
        } else if (mysql_affected_rows(connection->server) > 0) {
            rows = (int)mysql_affected_rows(connection->server);
        }
        status = mysql_next_result(connection->server);
    } while (status == 0);
    return status > 0 ? failed(connection) : rows;
}

__attribute__((format(printf, 2, 3))) static int ask(connection_t* connection, const char* form,
                                                     ...) {
    char text[STATEMENT_BYTES];
    va_list values;
    va_start(values, form);
    const int bytes = vsnprintf(text, sizeof text, form, values);
    va_end(values);
    return send_text(connection, text, (size_t)bytes);
}

/* The same in a transaction: one that another client was in the way of is taken back. */
__attribute__((format(printf, 2, 3))) static int ask_as_one(connection_t* connection,
                                                            const char* form, ...) {
    char text[STATEMENT_BYTES];
    va_list values;
    va_start(values, form);
    const int bytes = vsnprintf(text, sizeof text, form, values);
    va_end(values);
    const int rows = send_text(connection, text, (size_t)bytes);
    if (rows < 0) mysql_rollback(connection->server);
    return rows;
}

connection_t* store_connect(const store_options_t* options) {
    const char* address = options->address;
    connection_t* connection = calloc(1, sizeof *connection);
    connection->engine = options->engine ? options->engine : "innodb";
    connection->lazy = options->lazy;
    connection->server = mysql_init(NULL);
    const bool ok = mysql_real_connect(connection->server, NULL, "root", NULL, NULL, 0, address,
                                       CLIENT_MULTI_STATEMENTS) != NULL;
    /* No locks on gaps: MyRocks has none, and InnoDB needs none for these statements. */
    if (ok && ask(connection, "set session transaction isolation level read committed") >= 0) {
        ask(connection, "use linkbench"); /* before load there is none */
        return connection;
    }
    failed(connection);
    fprintf(stderr, "linkbench_mariadb: %s: %s\n", address ? address : "default socket",
            connection->error);
    store_close(connection);
    return NULL;
}

void store_close(connection_t* connection) {
    mysql_close(connection->server);
    free(connection);
}

const char* store_error(connection_t* connection) {
    return connection->error;
}

/* ---- load ---- */

int store_create(connection_t* connection) {
    int status = ask(connection, "set default_storage_engine = %s", connection->engine);
    if (status >= 0)
        status = ask(connection, "set global %s_flush_log_at_trx_commit = %d", connection->engine,
                     connection->lazy ? 2 : 1);
    for (int i = 0; status >= 0 && i < TABLE_STATEMENTS; i++)
        status = ask(connection, "%s", TABLES[i]);
    return status;
}

/* ---- requests ---- */

int store_get_node(connection_t* connection, int64_t id) {
    return ask(connection, "select type, version, time, data from nodes where id = %" PRId64, id);
}

int store_add_node(connection_t* connection, const node_t* node) {
    return ask(connection, "insert into nodes values (%" PRId64 ", %d, 0, %" PRId64 ", '%.*s')",
               node->id, NODE_TYPE, node->time, node->data_bytes, node->data);
}

int store_update_node(connection_t* connection, const node_t* node) {
    return ask(connection,
               "update nodes set version = version + 1, time = %" PRId64
               ", data = '%.*s' where id = %" PRId64,
               node->time, node->data_bytes, node->data, node->id);
}

int store_delete_node(connection_t* connection, int64_t id) {
    return ask(connection, "delete from nodes where id = %" PRId64, id);
}

int store_get_links(connection_t* connection, int64_t id1, int type, const int64_t* id2,
                    int count) {
    char among[LINKS_ASKED_MAX * 24] = "";
    for (int i = 0; i < count; i++) {
        snprintf(among + strlen(among), sizeof among - strlen(among), "%s%" PRId64, i ? "," : "",
                 id2[i]);
    }
    return ask(connection,
               "select id2, visibility, time, version, data from links where type = %d and id1 = "
               "%" PRId64 " and id2 in (%s)",
               type, id1, among);
}

int store_list_links(connection_t* connection, int64_t id1, int type, int64_t newest) {
    return ask(connection,
               "select id2, visibility, time, version, data from links where id1 = %" PRId64
               " and type = %d and visibility = 1 and time <= %" PRId64
               " order by time desc limit %d",
               id1, type, newest, LIST_LIMIT);
}

int store_count_links(connection_t* connection, int64_t id1, int type) {
    return ask(connection, "select count from counts where id1 = %" PRId64 " and type = %d", id1,
               type);
}

int store_add_link(connection_t* connection, const link_t* link) {
    /* row_count(): 1 where the link is new, 2 where it was hidden, 0 where nothing changed. */
    return ask_as_one(
        connection,
        "begin; insert into links values (%" PRId64 ", %" PRId64 ", %d, 1, %" PRId64
        ", 0, '%.*s') on duplicate key update visibility = values(visibility); set @rows = "
        "row_count(); update links set time = %" PRId64
        ", data = '%.*s', version = version + 1 where type = %d and id1 = %" PRId64
        " and id2 = %" PRId64 " and @rows <> 1; insert into counts values (%" PRId64
        ", %d, @rows > 0, 0, %" PRId64
        ") on duplicate key update count = count + values(count), version = version + 1, time = "
        "values(time); commit",
        link->id1, link->id2, link->type, link->time, link->data_bytes, link->data, link->time,
        link->data_bytes, link->data, link->type, link->id1, link->id2, link->id1, link->type,
        link->time);
}

int store_update_link(connection_t* connection, const link_t* link) {
    return ask(connection,
               "update links set time = %" PRId64
               ", data = '%.*s', version = version + 1 where type = %d and id1 = %" PRId64
               " and id2 = %" PRId64,
               link->time, link->data_bytes, link->data, link->type, link->id1, link->id2);
}

int store_delete_link(connection_t* connection, const link_t* link) {
    return ask_as_one(
        connection,
        "begin; update links set visibility = 0 where type = %d and id1 = %" PRId64
        " and id2 = %" PRId64
        " and visibility = 1; set @rows = row_count(); update counts set count = count - 1, "
        "version = version + 1 where id1 = %" PRId64 " and type = %d and @rows > 0; commit",
        link->type, link->id1, link->id2, link->id1, link->type);
}

/* ---- for sql_store.c ---- */

int sql_run(connection_t* connection, const char* statement, size_t bytes) {
    return send_text(connection, statement, bytes);
}

int sql_number(connection_t* connection, const char* query, int64_t* value) {
    if (mysql_query(connection->server, query) != 0) return failed(connection);
    MYSQL_RES* result = mysql_store_result(connection->server);
    if (!result) return failed(connection);
    MYSQL_ROW row = mysql_fetch_row(result);
    *value = row && row[0] ? strtoll(row[0], NULL, 10) : 0;
    mysql_free_result(result);
    return 0;
}
