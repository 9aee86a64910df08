/* PostgreSQL, by libpq with prepared statements. Each request is one statement, and so one
 * transaction: what a link changes in its count is done in the same one. */
#include <inttypes.h>
#include <postgresql/libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_store.h"

const char* const STORE_NAME = "postgresql";
const char* const STORE_ADDRESS =
    "what libpq takes, e.g. 'host=/tmp/sockets user=postgres'; its\n"
    "                       tables nodes, links and counts are made "
    "anew";
const bool STORE_HAS_OLD_WIRE = false, STORE_HAS_CHOICE = false;

enum { ERROR_BYTES = 512 };

struct connection {
    PGconn* server;
    char error[ERROR_BYTES];
};

/* What `links.was` is for: ON CONFLICT tells nothing of the row that was there, and whether that
 * was visible says whether the link must be counted. */
static const char* const TABLES =
    "drop table if exists nodes, links, counts;"
    "create table nodes (id bigint primary key, type int not null, version bigint not null,"
    " time bigint not null, data text not null);"
    "create table links (id1 bigint not null, id2 bigint not null, type bigint not null,"
    " visibility smallint not null, was smallint not null default 0, time bigint not null,"
    " version bigint not null, data text not null, primary key (type, id1, id2));"
    "create index list on links (id1, type, visibility, time desc);"
    "create table counts (id1 bigint not null, type bigint not null, count bigint not null,"
    " version bigint not null, time bigint not null, primary key (id1, type))";

static const struct {
    const char *name, *text;
} STATEMENTS[] = {
    {"get_node", "select type, version, time, data from nodes where id = $1"},
    {"add_node", "insert into nodes values ($1, $2, 0, $3, $4)"},
    {"update_node", "update nodes set version = version + 1, time = $2, data = $3 where id = $1"},
    {"delete_node", "delete from nodes where id = $1"},
    {"get_links",
     "select id2, visibility, time, version, data from links"
     " where type = $2 and id1 = $1 and id2 = any ($3::bigint[])"},
    {"list_links",
     "select id2, visibility, time, version, data from links where id1 = $1 and type = $2"
     " and visibility = 1 and time <= $3 order by time desc limit $4"},
    {"count_links", "select count from counts where id1 = $1 and type = $2"},
    {"add_link",
     "with made as (insert into links as l values ($1, $2, $3, 1, 0, $4, 0, $5)"
     " on conflict (type, id1, id2) do update set was = l.visibility, visibility = 1,"
     " time = excluded.time, version = l.version + 1, data = excluded.data"
     " returning 1 - was as more)"
     " insert into counts as c select $1, $3, more, 0, $4 from made"
     " on conflict (id1, type) do update set count = c.count + excluded.count,"
     " version = c.version + 1, time = excluded.time"},
    {"update_link",
     "update links set time = $4, data = $5, version = version + 1"
     " where type = $3 and id1 = $1 and id2 = $2"},
    {"delete_link",
     "with hidden as (update links set visibility = 0 where type = $3 and id1 = $1 and id2 = $2"
     " and visibility = 1 returning 1)"
     " update counts set count = count - 1, version = version + 1 from hidden"
     " where counts.id1 = $1 and counts.type = $3"},
};
enum { STATEMENT_COUNT = sizeof STATEMENTS / sizeof STATEMENTS[0], PARAMETERS_MAX = 5 };

static void keep_error(connection_t* connection, const char* text) {
    snprintf(connection->error, sizeof connection->error, "%s", text);
    connection->error[strcspn(connection->error, "\n")] = '\0';
}

/* Takes the result. */
static int rows_of(connection_t* connection, PGresult* result) {
    int rows = STORE_ERROR;
    switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK:
            rows = PQntuples(result);
            break;
        case PGRES_COMMAND_OK:
            rows = atoi(PQcmdTuples(result));
            break;
        default: {
            const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            keep_error(connection, PQerrorMessage(connection->server));
            if (state && strncmp(state, "40", 2) == 0) rows = STORE_AGAIN; /* deadlocks */
        }
    }
    PQclear(result);
    return rows;
}

connection_t* store_connect(const store_options_t* options) {
    connection_t* connection = calloc(1, sizeof *connection);
    connection->server = PQconnectdb(options->address ? options->address : "");
    bool ok = PQstatus(connection->server) == CONNECTION_OK;
    if (!ok) keep_error(connection, PQerrorMessage(connection->server));
    ok = ok &&
         rows_of(connection, PQexec(connection->server, "set client_min_messages = error")) >= 0;
    if (ok && options->lazy)
        ok = rows_of(connection, PQexec(connection->server, "set synchronous_commit = off")) >= 0;
    if (ok) return connection;
    fprintf(stderr, "linkbench_postgresql: %s\n", connection->error);
    store_close(connection);
    return NULL;
}

void store_close(connection_t* connection) {
    PQfinish(connection->server);
    free(connection);
}

const char* store_error(connection_t* connection) {
    return connection->error;
}

/* Runs one of STATEMENTS, prepared when it is first wanted: the tables are there then. */
static int run(connection_t* connection, const char* name, int count, const char* const* values) {
    PGresult* result = PQexecPrepared(connection->server, name, count, values, NULL, NULL, 0);
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (!state || strcmp(state, "26000") != 0) return rows_of(connection, result);
    PQclear(result);
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        if (strcmp(STATEMENTS[i].name, name) != 0) continue;
        const int prepared =
            rows_of(connection, PQprepare(connection->server, name, STATEMENTS[i].text, 0, NULL));
        if (prepared < 0) return prepared;
    }
    return rows_of(connection,
                   PQexecPrepared(connection->server, name, count, values, NULL, NULL, 0));
}

/* Parameters of a statement as texts. */
typedef struct {
    int count;
    const char* values[PARAMETERS_MAX];
    char numbers[PARAMETERS_MAX][24];
} parameters_t;

static void add_number(parameters_t* parameters, int64_t value) {
    char* text = parameters->numbers[parameters->count];
    snprintf(text, sizeof parameters->numbers[0], "%" PRId64, value);
    parameters->values[parameters->count++] = text;
}

static int run_numbers(connection_t* connection, const char* name, int count, ...) {
    parameters_t parameters = {0};
    va_list values;
    va_start(values, count);
    for (int i = 0; i < count; i++)
        add_number(&parameters, va_arg(values, int64_t));
    va_end(values);
    return run(connection, name, count, parameters.values);
}

/* ---- load ---- */

int store_create(connection_t* connection) {
    return rows_of(connection, PQexec(connection->server, TABLES));
}

/* ---- requests ---- */

int store_get_node(connection_t* connection, int64_t id) {
    return run_numbers(connection, "get_node", 1, id);
}

int store_delete_node(connection_t* connection, int64_t id) {
    return run_numbers(connection, "delete_node", 1, id);
}

/* `data` ends with its bytes; libpq wants a NUL. */
static void add_data(parameters_t* parameters, char* copy, const char* data, int bytes) {
    memcpy(copy, data, (size_t)bytes);
    copy[bytes] = '\0';
    parameters->values[parameters->count++] = copy;
}

int store_add_node(connection_t* connection, const node_t* node) {
    parameters_t parameters = {0};
    char data[DATA_BYTES_MAX + 1];
    add_number(&parameters, node->id);
    add_number(&parameters, NODE_TYPE);
    add_number(&parameters, node->time);
    add_data(&parameters, data, node->data, node->data_bytes);
    return run(connection, "add_node", parameters.count, parameters.values);
}

int store_update_node(connection_t* connection, const node_t* node) {
    parameters_t parameters = {0};
    char data[DATA_BYTES_MAX + 1];
    add_number(&parameters, node->id);
    add_number(&parameters, node->time);
    add_data(&parameters, data, node->data, node->data_bytes);
    return run(connection, "update_node", parameters.count, parameters.values);
}

int store_get_links(connection_t* connection, int64_t id1, int type, const int64_t* id2,
                    int count) {
    parameters_t parameters = {0};
    char among[LINKS_ASKED_MAX * 24 + 2] = "{";
    add_number(&parameters, id1);
    add_number(&parameters, type);
    for (int i = 0; i < count; i++) {
        snprintf(among + strlen(among), sizeof among - strlen(among), "%" PRId64 "%s", id2[i],
                 i + 1 < count ? "," : "}");
    }
    parameters.values[parameters.count++] = among;
    return run(connection, "get_links", parameters.count, parameters.values);
}

int store_list_links(connection_t* connection, int64_t id1, int type, int64_t newest) {
    return run_numbers(connection, "list_links", 4, id1, (int64_t)type, newest,
                       (int64_t)LIST_LIMIT);
}

int store_count_links(connection_t* connection, int64_t id1, int type) {
    return run_numbers(connection, "count_links", 2, id1, (int64_t)type);
}

static int write_link(connection_t* connection, const char* name, const link_t* link) {
    parameters_t parameters = {0};
    char data[DATA_BYTES_MAX + 1];
    add_number(&parameters, link->id1);
    add_number(&parameters, link->id2);
    add_number(&parameters, link->type);
    add_number(&parameters, link->time);
    add_data(&parameters, data, link->data, link->data_bytes);
    return run(connection, name, parameters.count, parameters.values);
}

int store_add_link(connection_t* connection, const link_t* link) {
    return write_link(connection, "add_link", link);
}

int store_update_link(connection_t* connection, const link_t* link) {
    return write_link(connection, "update_link", link);
}

int store_delete_link(connection_t* connection, const link_t* link) {
    return run_numbers(connection, "delete_link", 3, link->id1, link->id2, (int64_t)link->type);
}

/* ---- for sql_store.c ---- */

int sql_run(connection_t* connection, const char* statement, size_t bytes) {
    (void)bytes; /* libpq wants the NUL behind it */
    return rows_of(connection, PQexec(connection->server, statement));
}

int sql_number(connection_t* connection, const char* query, int64_t* value) {
    PGresult* result = PQexec(connection->server, query);
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        *value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    return rows_of(connection, result);
}
