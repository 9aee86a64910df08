#include "sql_store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { APPENDED_MAX = 1024 };

/* A statement that grows, row by row. Begins as {0}. */
typedef struct {
    char* text;
    size_t bytes, room;
} statement_t;

/* At most 1023 bytes at once. */
__attribute__((format(printf, 2, 3))) static void append(statement_t* sql, const char* form, ...) {
    if (sql->room - sql->bytes < APPENDED_MAX) {
        sql->room = 2 * sql->room + 4 * APPENDED_MAX;
        sql->text = realloc(sql->text, sql->room);
        if (!sql->text) abort();
    }
    va_list values;
    va_start(values, form);
    sql->bytes += (size_t)vsnprintf(sql->text + sql->bytes, APPENDED_MAX, form, values);
    va_end(values);
}

static int run(connection_t* connection, statement_t* sql) {
    const int rows = sql_run(connection, sql->text, sql->bytes);
    free(sql->text);
    return rows;
}

int store_load_nodes(connection_t* connection, const node_t* nodes, int count) {
    statement_t sql = {0};
    append(&sql, "insert into nodes values ");
    for (int i = 0; i < count; i++) {
        append(&sql, "%s(%" PRId64 ",%d,0,%" PRId64 ",'%.*s')", i ? "," : "", nodes[i].id,
               NODE_TYPE, nodes[i].time, nodes[i].data_bytes, nodes[i].data);
    }
    return run(connection, &sql);
}

int store_load_links(connection_t* connection, const link_t* links, int count) {
    statement_t sql = {0};
    append(&sql, "insert into links (id1, id2, type, visibility, time, version, data) values ");
    for (int i = 0; i < count; i++) {
        const link_t* link = &links[i];
        append(&sql, "%s(%" PRId64 ",%" PRId64 ",%d,%d,%" PRId64 ",0,'%.*s')", i ? "," : "",
               link->id1, link->id2, link->type, link->visibility, link->time, link->data_bytes,
               link->data);
    }
    return run(connection, &sql);
}

int store_load_counts(connection_t* connection, const link_count_t* counts, int count) {
    statement_t sql = {0};
    append(&sql, "insert into counts values ");
    for (int i = 0; i < count; i++) {
        append(&sql, "%s(%" PRId64 ",%d,%" PRId64 ",0,0)", i ? "," : "", counts[i].id1,
               counts[i].type, counts[i].count);
    }
    return run(connection, &sql);
}

int store_check(connection_t* connection, int64_t* visible, int64_t* counted) {
    const int links =
        sql_number(connection, "select count(*) from links where visibility = 1", visible);
    return links < 0
               ? links
               : sql_number(connection, "select coalesce(sum(count), 0) from counts", counted);
}
