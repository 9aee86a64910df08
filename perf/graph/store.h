/* What a database must do for the graph's requests. Each store_*.c is one database through its own
 * C client and defines all of these; a program has one of them.
 *
 * A write is one transaction, or as near to it as the database comes, and on the disk when its
 * function returns, unless the connection is lazy. Functions return how many rows were read or
 * written, STORE_AGAIN when another client was in the way and the request should be repeated, or
 * STORE_ERROR; store_error() says why then. A connection belongs to one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph.h"

enum { STORE_ERROR = -1, STORE_AGAIN = -2 };
enum { STORE_CONNECTIONS_MAX = 257 }; /* at a time */

typedef struct connection connection_t;

typedef struct {
    const char* address; /* NULL: the usual one */
    const char* engine;  /* of the tables; NULL: the usual one, or the only one */
    bool lazy;
    bool old_wire;     /* only where STORE_HAS_OLD_WIRE */
    bool transactions; /* only where STORE_HAS_CHOICE; not by the old wire */
} store_options_t;

extern const char* const STORE_NAME;
/* What --address is. */
extern const char* const STORE_ADDRESS;
/* Whether it can also be asked as old drivers did. */
extern const bool STORE_HAS_OLD_WIRE;
/* Whether a link and its count are two writes, unless one asks for a transaction. */
extern const bool STORE_HAS_CHOICE;

/* NULL when it cannot be reached: the sentence is on stderr then. The options live as long as the
 * connection. */
connection_t* store_connect(const store_options_t* options);
void store_close(connection_t* connection);
const char* store_error(connection_t* connection);

/* Drops what is there and makes the tables: nodes, links, and how many visible links of a type each
 * node has. */
int store_create(connection_t* connection);
int store_load_nodes(connection_t* connection, const node_t* nodes, int count);
int store_load_links(connection_t* connection, const link_t* links, int count);
int store_load_counts(connection_t* connection, const link_count_t* counts, int count);

int store_get_node(connection_t* connection, int64_t id);
int store_add_node(connection_t* connection, const node_t* node);
int store_update_node(connection_t* connection, const node_t* node);
int store_delete_node(connection_t* connection, int64_t id);
/* Links of one node and type by their other ends. */
int store_get_links(connection_t* connection, int64_t id1, int type, const int64_t* id2, int count);
/* The newest visible links of a node and type, at most LIST_LIMIT, none newer than `newest`. */
int store_list_links(connection_t* connection, int64_t id1, int type, int64_t newest);
int store_count_links(connection_t* connection, int64_t id1, int type);
/* Makes the link, or makes it visible again and writes its time and data; counts it when it was not
 * visible. */
int store_add_link(connection_t* connection, const link_t* link);
/* Writes time and data. */
int store_update_link(connection_t* connection, const link_t* link);
/* Hides it; counts it no more when it was visible. */
int store_delete_link(connection_t* connection, const link_t* link);

/* All visible links by looking at each, and the sum of what is counted; they are the same while
 * there are no writes. */
int store_check(connection_t* connection, int64_t* visible, int64_t* counted);
