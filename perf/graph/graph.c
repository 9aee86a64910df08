#include "graph.h"

#include <math.h>

#include "../zipf.h"

const char* const REQUEST_NAMES[REQUEST_KINDS] = {
    "add_link",      "delete_link", "update_link", "count_link",  "get_link",
    "get_link_list", "get_node",    "add_node",    "update_node", "delete_node",
};

const double REQUEST_SHARES[REQUEST_KINDS] = {9.0, 3.0, 8.0, 4.9, 0.5, 50.7, 12.9, 2.6, 7.4, 1.0};

const double HISTORY_SHARE = 30;

/* The k-th most popular id is drawn with a probability proportional to 1 / k^exponent. */
static const double EXPONENTS[REQUEST_KINDS] = {
    [ADD_LINK] = 0.741,    [DELETE_LINK] = 0.741,   [UPDATE_LINK] = 0.741, [COUNT_LINK] = 0.698,
    [GET_LINK] = 0.698,    [GET_LINK_LIST] = 0.698, [GET_NODE] = 0.625,    [ADD_NODE] = 0,
    [UPDATE_NODE] = 0.606, [DELETE_NODE] = 0,
};

static const double DEGREE_EXPONENT = 0.9, DEGREE_MEAN = 4.3;
static const int64_t TIME_FIRST = 1000000000000, TIME_STEP = 1000; /* ms */

static int64_t common_divisor(int64_t a, int64_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

void graph_init(graph_t* graph, int64_t nodes) {
    graph->nodes = nodes;
    /* Multiplying by a number without a common divisor puts the ids into another order. */
    graph->step = (int64_t)((double)nodes * 0.6180339887);
    while (common_divisor(graph->step, nodes) != 1)
        graph->step++;
    graph->start[0] = nodes / 3;
    graph->start[1] = nodes / 7;
    double sum = 0;
    for (int64_t rank = 1; rank <= nodes; rank++)
        sum += pow((double)rank, -DEGREE_EXPONENT);
    graph->degree_max = DEGREE_MEAN * (double)nodes / sum;
}

/* The id that has a rank in one of the two orders, and back. */
static int64_t at_rank(const graph_t* graph, int order, int64_t rank) {
    const __int128 place = (__int128)rank * graph->step + graph->start[order];
    return (int64_t)(place % graph->nodes) + 1;
}

/* Which rank an id has among the degrees: any order without repetitions will do. */
static int64_t degree_rank(const graph_t* graph, int64_t id) {
    return at_rank(graph, 0, id - 1) - 1;
}

int64_t graph_degree(const graph_t* graph, int64_t id, int type) {
    const double exact =
        graph->degree_max * pow((double)degree_rank(graph, id) + 1, -DEGREE_EXPONENT);
    /* Rounded up as often as the mean needs. */
    const double chance = (double)(mix((uint64_t)id) >> 11) / 9007199254740992.0; /* 2^53 */
    int64_t degree = (int64_t)exact + (chance < exact - floor(exact));
    if (degree > graph->nodes) degree = graph->nodes;
    return (degree + (type == 0)) / LINK_TYPES;
}

void graph_link(const graph_t* graph, int64_t id1, int type, int64_t n, link_t* link) {
    const uint64_t first =
        mix((uint64_t)id1 * LINK_TYPES + (uint64_t)type) % (uint64_t)graph->nodes;
    link->id1 = id1;
    link->id2 = (int64_t)(((__int128)n * graph->step + (int64_t)first) % graph->nodes) + 1;
    link->type = LINK_TYPE_FIRST + type;
    link->time = TIME_FIRST + n * TIME_STEP;
    link->visibility = VISIBLE;
    link->version = 0;
}

int64_t graph_below(int64_t n, uint64_t* random) {
    return (int64_t)(zipf_uniform(random) * (double)n);
}

request_t graph_request(uint64_t* random) {
    double left = zipf_uniform(random) * 100;
    for (request_t kind = 0; kind + 1 < REQUEST_KINDS; kind++) {
        if ((left -= REQUEST_SHARES[kind]) < 0) return kind;
    }
    return REQUEST_KINDS - 1;
}

int64_t graph_node_of(const graph_t* graph, request_t kind, uint64_t* random) {
    /* The inverse of the distribution, taken as a continuous one. */
    const double place = pow(zipf_uniform(random), 1 / (1 - EXPONENTS[kind]));
    return at_rank(graph, 1, (int64_t)(place * (double)graph->nodes));
}

int graph_data(char* data, int median, uint64_t* random) {
    const int bytes = (int)(median * pow(2, 2 * zipf_uniform(random) - 1));
    for (int i = 0; i < bytes; i++) {
        const uint64_t letter = i % 16 < 8 ? (uint64_t)i : (uint64_t)graph_below(26, random);
        data[i] = (char)('a' + letter % 26);
    }
    return bytes;
}
