/* The social graph of LinkBench (Armstrong and others, SIGMOD 2013): what nodes and links are like,
 * which requests come how often, and which ids they are for. Nothing here knows a database.
 *
 * In reading order: graph.h; store.h, what a database must do, with store_mongodb.c,
 * store_postgresql.c and store_mariadb.c; link_client.c, the load and the requests.
 *
 * Everything about the graph follows from its number of nodes: degrees, ends, times. So a client
 * knows, without asking, which links were loaded. All functions are free of locks. */
#pragma once

#include <stdint.h>

enum {
    NODE_TYPE = 2048,
    LINK_TYPES = 2,
    LINK_TYPE_FIRST = 123456789,
    LIST_LIMIT = 10000,  /* links that a list has at most */
    LINKS_ASKED_MAX = 8, /* by one get_link */
    DATA_BYTES_MAX = 256
};

enum { HIDDEN = 0, VISIBLE = 1 };

/* The ten requests. */
typedef enum {
    ADD_LINK,
    DELETE_LINK,
    UPDATE_LINK,
    COUNT_LINK,
    GET_LINK,
    GET_LINK_LIST,
    GET_NODE,
    ADD_NODE,
    UPDATE_NODE,
    DELETE_NODE,
    REQUEST_KINDS
} request_t;

extern const char* const REQUEST_NAMES[REQUEST_KINDS];
/* Per cent of all requests; 100 together. */
extern const double REQUEST_SHARES[REQUEST_KINDS];
/* Per cent of the lists that ask for what is older than some time. */
extern const double HISTORY_SHARE;

typedef struct {
    int64_t id, version, time; /* ms */
    const char* data;
    int data_bytes;
} node_t;

typedef struct {
    int64_t id1, id2, time, version;
    int type, visibility;
    const char* data;
    int data_bytes;
} link_t;

typedef struct {
    int64_t id1, count;
    int type;
} link_count_t;

typedef struct {
    int64_t nodes; /* their ids are 1 to this */
    double degree_max;
    int64_t step, start[2]; /* of the orders of popularity: of degrees, of accesses */
} graph_t;

/* At least 100 nodes. Takes time proportional to that. */
void graph_init(graph_t* graph, int64_t nodes);

/* How many links of a type (counted from 0) go out of a node when it is loaded. 4.3 of all types on
 * average; a few nodes have a large part of all links. */
int64_t graph_degree(const graph_t* graph, int64_t id, int type);

/* The n-th of them: ends and time. */
void graph_link(const graph_t* graph, int64_t id1, int type, int64_t n, link_t* link);

/* Draws by `random`, the caller's own state, any value but 0. */
request_t graph_request(uint64_t* random);
/* The node that such a request is for: some are asked for far more often than others. */
int64_t graph_node_of(const graph_t* graph, request_t kind, uint64_t* random);
/* A number below n, each as likely. */
int64_t graph_below(int64_t n, uint64_t* random);
/* Writes letters that compress to about half; returns how many. `median` of them in the middle. */
int graph_data(char* data, int median, uint64_t* random);

enum { NODE_DATA_MEDIAN = 128, LINK_DATA_MEDIAN = 8 };
