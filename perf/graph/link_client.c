/* Question: how long do a social graph's requests take, and how many a second does a database
 * answer?
 *
 * LinkBench's work (graph.h) by a closed loop: each client thread sends its next request when the
 * last one was answered. One phase a run: load makes the graph, request asks, check adds up.
 * Usage:    see usage() below
 * Output:   one line of JSON. Of the requests: for each kind how many, mean, p95, p99 and the
 *           longest; how many there were in each interval; how many in all, with those before the
 *           measured time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../command_line.h"
#include "../histogram.h"
#include "../zipf.h"
#include "store.h"

enum {
    CLIENTS_MAX = STORE_CONNECTIONS_MAX - 1,
    INTERVALS_MAX = 100000,
    NODES_AT_ONCE = 250,
    LINKS_AT_ONCE = 500
};
enum { TRIES_MAX = 1000 };
static const double MORE_LINKS_CHANCE = 0.2; /* that a get_link asks for one link more */

typedef struct {
    const char* phase;
    store_options_t store;
    int64_t nodes;
    int clients;
    double seconds, warmup_seconds, interval_seconds;
    graph_t graph;
} settings_t;

typedef struct {
    const settings_t* settings;
    connection_t* connection;
    uint64_t random;
    uint64_t links;  /* loaded */
    uint64_t in_all; /* requests answered, those before the measured time too */
    uint64_t repeated, errors;
    uint64_t rows[REQUEST_KINDS];
    histogram_t latencies[REQUEST_KINDS];
    atomic_uint_least64_t answered;
    pthread_t thread;
} worker_t;

static atomic_int_least64_t next_node;
static atomic_bool measuring, stopping;

static void usage(FILE* out) {
    fprintf(out,
            "usage: linkbench_%s [options] load|request|check\n"
            "\n"
            "  load                 drops what is there and makes a graph\n"
            "  request              sends requests, for --seconds\n"
            "  check                counts all links and adds up the counts kept beside them\n"
            "\n"
            "  --address ADDRESS    %s\n"
            "  --engine NAME        of the tables, where there is a choice\n"
            "  --nodes N            of the graph (20000; 100 to 1e9); the same in all phases\n"
            "  --clients N          threads, one connection each (8; at most 256)\n"
            "  --seconds S          measured time (5)\n"
            "  --warmup S           time before it that is not counted (0.5)\n"
            "  --interval S         requests are counted for each of these (1)\n"
            "  --lazy               an answer does not wait for the disk\n%s%s",
            STORE_NAME, STORE_ADDRESS,
            STORE_HAS_OLD_WIRE ? "  --old-wire           asks as old drivers did; for servers that "
                                 "today's refuse\n"
                               : "",
            STORE_HAS_CHOICE
                ? "  --transactions       writes a link and its count in one; of members of sets\n"
                : "");
}

/* ---- load ---- */

static bool load_failed(worker_t* worker, int status) {
    if (status >= 0) return false;
    if (worker->errors++ == 0)
        fprintf(stderr, "linkbench_%s: %s\n", STORE_NAME, store_error(worker->connection));
    return true;
}

static bool load_links_of(worker_t* worker, int64_t id, link_t* links, int* waiting,
                          char (*data)[DATA_BYTES_MAX]) {
    for (int type = 0; type < LINK_TYPES; type++) {
        const int64_t degree = graph_degree(&worker->settings->graph, id, type);
        for (int64_t n = 0; n < degree; n++) {
            link_t* link = &links[*waiting];
            graph_link(&worker->settings->graph, id, type, n, link);
            link->data = data[*waiting];
            link->data_bytes = graph_data(data[*waiting], LINK_DATA_MEDIAN, &worker->random);
            worker->links++;
            if (++*waiting < LINKS_AT_ONCE) continue;
            if (load_failed(worker, store_load_links(worker->connection, links, *waiting)))
                return false;
            *waiting = 0;
        }
    }
    return true;
}

static void* load(void* argument) {
    worker_t* worker = argument;
    const settings_t* settings = worker->settings;
    static _Thread_local node_t nodes[NODES_AT_ONCE];
    static _Thread_local link_t links[LINKS_AT_ONCE];
    static _Thread_local link_count_t counts[NODES_AT_ONCE * LINK_TYPES];
    static _Thread_local char data[LINKS_AT_ONCE][DATA_BYTES_MAX];
    for (;;) {
        const int64_t first = atomic_fetch_add(&next_node, NODES_AT_ONCE);
        if (first > settings->nodes) break;
        int count = 0, counted = 0, waiting = 0;
        for (int64_t id = first; id < first + NODES_AT_ONCE && id <= settings->nodes; id++) {
            nodes[count] = (node_t){.id = id, .data = data[count]};
            nodes[count].data_bytes = graph_data(data[count], NODE_DATA_MEDIAN, &worker->random);
            count++;
            for (int type = 0; type < LINK_TYPES; type++) {
                counts[counted++] =
                    (link_count_t){.id1 = id,
                                   .type = LINK_TYPE_FIRST + type,
                                   .count = graph_degree(&settings->graph, id, type)};
            }
        }
        if (load_failed(worker, store_load_nodes(worker->connection, nodes, count)) ||
            load_failed(worker, store_load_counts(worker->connection, counts, counted)))
            break;
        bool ok = true;
        for (int i = 0; ok && i < count; i++)
            ok = load_links_of(worker, first + i, links, &waiting, data);
        if (!ok || (waiting > 0 &&
                    load_failed(worker, store_load_links(worker->connection, links, waiting))))
            break;
    }
    return NULL;
}

/* ---- requests ---- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A link that was loaded; where the node has none, one that is not there. */
static void draw_link(worker_t* worker, int64_t id1, int type, link_t* link) {
    const graph_t* graph = &worker->settings->graph;
    const int64_t degree = graph_degree(graph, id1, type);
    graph_link(graph, id1, type, degree > 0 ? graph_below(degree, &worker->random) : 0, link);
}

static int get_links(worker_t* worker, int64_t id1, int type) {
    int64_t id2[LINKS_ASKED_MAX];
    int count = 0;
    do {
        link_t link;
        draw_link(worker, id1, type, &link);
        id2[count++] = link.id2;
    } while (count < LINKS_ASKED_MAX && zipf_uniform(&worker->random) < MORE_LINKS_CHANCE);
    return store_get_links(worker->connection, id1, LINK_TYPE_FIRST + type, id2, count);
}

static int list_links(worker_t* worker, int64_t id1, int type) {
    int64_t newest = INT64_MAX;
    if (zipf_uniform(&worker->random) * 100 < HISTORY_SHARE) {
        link_t link;
        draw_link(worker, id1, type, &link);
        newest = link.time;
    }
    return store_list_links(worker->connection, id1, LINK_TYPE_FIRST + type, newest);
}

static int ask(worker_t* worker, request_t kind) {
    connection_t* connection = worker->connection;
    const int64_t id = graph_node_of(&worker->settings->graph, kind, &worker->random);
    const int type = (int)graph_below(LINK_TYPES, &worker->random);
    char data[DATA_BYTES_MAX];
    link_t link;
    node_t node = {.id = id, .time = now_ms(), .data = data};
    switch (kind) {
        case COUNT_LINK:
            return store_count_links(connection, id, LINK_TYPE_FIRST + type);
        case GET_LINK:
            return get_links(worker, id, type);
        case GET_LINK_LIST:
            return list_links(worker, id, type);
        case GET_NODE:
            return store_get_node(connection, id);
        case DELETE_NODE:
            return store_delete_node(connection, id);
        case ADD_NODE:
            node.id = atomic_fetch_add(&next_node, 1);
            node.data_bytes = graph_data(data, NODE_DATA_MEDIAN, &worker->random);
            return store_add_node(connection, &node);
        case UPDATE_NODE:
            node.data_bytes = graph_data(data, NODE_DATA_MEDIAN, &worker->random);
            return store_update_node(connection, &node);
        default:
            break;
    }
    draw_link(worker, id, type, &link);
    if (kind == DELETE_LINK) return store_delete_link(connection, &link);
    link.time = node.time;
    link.data = data;
    link.data_bytes = graph_data(data, LINK_DATA_MEDIAN, &worker->random);
    if (kind == UPDATE_LINK) return store_update_link(connection, &link);
    link.id2 = 1 + graph_below(worker->settings->nodes, &worker->random);
    return store_add_link(connection, &link);
}

static void* request(void* argument) {
    worker_t* worker = argument;
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        const bool counted = atomic_load_explicit(&measuring, memory_order_relaxed);
        const request_t kind = graph_request(&worker->random);
        const uint64_t random = worker->random, start = now_ns();
        int rows = ask(worker, kind);
        for (int tries = 1; rows == STORE_AGAIN && tries < TRIES_MAX; tries++) {
            worker->repeated++;
            worker->random = random; /* the same request again */
            rows = ask(worker, kind);
        }
        if (rows < 0) {
            if (worker->errors++ == 0)
                fprintf(stderr, "linkbench_%s: %s: %s\n", STORE_NAME, REQUEST_NAMES[kind],
                        store_error(worker->connection));
            break;
        }
        worker->in_all++;
        if (!counted) continue;
        histogram_add(&worker->latencies[kind], now_ns() - start);
        worker->rows[kind] += (uint64_t)rows;
        atomic_fetch_add_explicit(&worker->answered, 1, memory_order_relaxed);
    }
    return NULL;
}

static void sleep_until(uint64_t ns) {
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
    }
}

/* How many requests were answered in each interval of the measured time; `counts` has room for
 * INTERVALS_MAX. What is left of the time behind the last whole interval belongs to none. */
static int count_by_interval(const settings_t* settings, worker_t* workers, uint64_t start,
                             uint64_t* counts) {
    const uint64_t end = start + (uint64_t)(settings->seconds * 1e9);
    uint64_t before = 0;
    int intervals = 0;
    for (uint64_t next = start; intervals < INTERVALS_MAX; intervals++) {
        next += (uint64_t)(settings->interval_seconds * 1e9);
        if (next > end) break;
        sleep_until(next);
        uint64_t sum = 0;
        for (int i = 0; i < settings->clients; i++)
            sum += atomic_load(&workers[i].answered);
        counts[intervals] = sum - before;
        before = sum;
    }
    sleep_until(end);
    return intervals;
}

static void print_requests(const settings_t* settings, const worker_t* workers, double seconds,
                           double cpu_seconds, const uint64_t* counts, int intervals) {
    uint64_t answered = 0, in_all = 0, repeated = 0, errors = 0;
    for (int i = 0; i < settings->clients; i++) {
        answered += atomic_load(&workers[i].answered);
        in_all += workers[i].in_all;
        repeated += workers[i].repeated;
        errors += workers[i].errors;
    }
    printf(
        "{\"phase\": \"request\", \"clients\": %d, \"nodes\": %lld, \"lazy\": %s, \"seconds\": "
        "%.3f, \"requests\": %llu, \"requests_in_all\": %llu, \"per_second\": %.1f, \"repeated\": "
        "%llu, \"errors\": %llu, \"client_cpu_us\": %.2f, \"interval_seconds\": %g, "
        "\"per_interval\": [",
        settings->clients, (long long)settings->nodes, settings->store.lazy ? "true" : "false",
        seconds, (unsigned long long)answered, (unsigned long long)in_all,
        (double)answered / seconds, (unsigned long long)repeated, (unsigned long long)errors,
        cpu_seconds * 1e6 / (double)(answered ? answered : 1), settings->interval_seconds);
    for (int i = 0; i < intervals; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)counts[i]);
    printf("], \"kinds\": {");
    for (request_t kind = 0; kind < REQUEST_KINDS; kind++) {
        static histogram_t sum;
        memset(&sum, 0, sizeof sum);
        uint64_t rows = 0;
        for (int i = 0; i < settings->clients; i++) {
            histogram_merge(&sum, &workers[i].latencies[kind]);
            rows += workers[i].rows[kind];
        }
        printf("%s\"%s\": {\"count\": %llu, \"rows\": %llu, \"p95_us\": %.1f, ", kind ? ", " : "",
               REQUEST_NAMES[kind], (unsigned long long)sum.count, (unsigned long long)rows,
               (double)histogram_percentile(&sum, 95) / 1e3);
        histogram_print_json(&sum, stdout);
        printf("}");
    }
    printf("}}\n");
}

/* ---- phases ---- */

/* Starts all threads; false when one of them has no connection. */
static bool start_workers(const settings_t* settings, worker_t* workers, void* (*work)(void*)) {
    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        /* Each run draws other numbers, so that a later round does not repeat the first. */
        workers[i].random = (now_ns() * 2654435761u + 1) ^ 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
        workers[i].connection = store_connect(&settings->store);
        if (!workers[i].connection) return false;
    }
    for (int i = 0; i < settings->clients; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    return true;
}

static uint64_t join_workers(const settings_t* settings, worker_t* workers) {
    uint64_t errors = 0;
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        errors += workers[i].errors;
        store_close(workers[i].connection);
    }
    return errors;
}

static int run_load(const settings_t* settings, worker_t* workers) {
    connection_t* first = store_connect(&settings->store);
    if (!first) return 1;
    const bool created = store_create(first) >= 0;
    if (!created) fprintf(stderr, "linkbench_%s: %s\n", STORE_NAME, store_error(first));
    store_close(first);
    if (!created) return 1;
    atomic_store(&next_node, 1);
    const uint64_t start = now_ns();
    if (!start_workers(settings, workers, load)) return 1;
    const uint64_t errors = join_workers(settings, workers);
    const double seconds = (double)(now_ns() - start) / 1e9;
    uint64_t links = 0;
    for (int i = 0; i < settings->clients; i++)
        links += workers[i].links;
    const double rows = (double)links + (double)settings->nodes;
    printf(
        "{\"phase\": \"load\", \"clients\": %d, \"nodes\": %lld, \"links\": %llu, \"seconds\": "
        "%.3f, \"per_second\": %.1f, \"client_cpu_us\": %.2f}\n",
        settings->clients, (long long)settings->nodes, (unsigned long long)links, seconds,
        rows / seconds, cpu_time().all * 1e6 / rows);
    return errors ? 1 : 0;
}

static int run_requests(const settings_t* settings, worker_t* workers) {
    static uint64_t counts[INTERVALS_MAX];
    /* Ids of added nodes lie above those of the graph, and those of a later run above these. */
    atomic_store(&next_node, now_ms() << 12);
    if (!start_workers(settings, workers, request)) return 1;
    sleep_until(now_ns() + (uint64_t)(settings->warmup_seconds * 1e9));
    const double cpu_before = cpu_time().all;
    const uint64_t start = now_ns();
    atomic_store(&measuring, true);
    const int intervals = count_by_interval(settings, workers, start, counts);
    atomic_store(&stopping, true);
    const double seconds = (double)(now_ns() - start) / 1e9, cpu = cpu_time().all - cpu_before;
    const uint64_t errors = join_workers(settings, workers);
    print_requests(settings, workers, seconds, cpu, counts, intervals);
    return errors ? 1 : 0;
}

static int run_check(const settings_t* settings) {
    connection_t* connection = store_connect(&settings->store);
    if (!connection) return 1;
    int64_t visible = 0, counted = 0;
    const int status = store_check(connection, &visible, &counted);
    if (status < 0) fprintf(stderr, "linkbench_%s: %s\n", STORE_NAME, store_error(connection));
    store_close(connection);
    printf("{\"phase\": \"check\", \"visible_links\": %lld, \"counted_links\": %lld}\n",
           (long long)visible, (long long)counted);
    return status < 0;
}

int main(int argc, char** argv) {
    settings_t settings = {
        .nodes = 20000, .clients = 8, .seconds = 5, .warmup_seconds = 0.5, .interval_seconds = 1};
    const command_option_t options[] = {
        {"address", OPTION_TEXT, &settings.store.address, 0, 0},
        {"engine", OPTION_TEXT, &settings.store.engine, 0, 0},
        {"nodes", OPTION_INT64, &settings.nodes, 100, 1e9},
        {"clients", OPTION_INT, &settings.clients, 1, CLIENTS_MAX},
        {"seconds", OPTION_REAL, &settings.seconds, 0.01, 86400},
        {"warmup", OPTION_REAL, &settings.warmup_seconds, 0, 86400},
        {"interval", OPTION_REAL, &settings.interval_seconds, 0.01, 86400},
        {"lazy", OPTION_SETS, &settings.store.lazy, 0, 0},
        {STORE_HAS_OLD_WIRE ? "old-wire" : NULL, OPTION_SETS, &settings.store.old_wire, 0, 0},
        {STORE_HAS_CHOICE ? "transactions" : NULL, OPTION_SETS, &settings.store.transactions, 0, 0},
        {0},
    };
    settings.phase = take_options(argc, argv, options, usage);
    if (settings.store.transactions && settings.store.old_wire) {
        fprintf(stderr, "linkbench_%s: --transactions is not for --old-wire\n", STORE_NAME);
        return 2;
    }
    graph_init(&settings.graph, settings.nodes);
    worker_t* workers = calloc((size_t)settings.clients, sizeof(worker_t));
    int status = 2;
    if (strcmp(settings.phase, "load") == 0) {
        status = run_load(&settings, workers);
    } else if (strcmp(settings.phase, "request") == 0) {
        status = run_requests(&settings, workers);
    } else if (strcmp(settings.phase, "check") == 0) {
        status = run_check(&settings);
    } else {
        fprintf(stderr, "linkbench_%s: the phase wants load, request or check, not '%s'\n",
                STORE_NAME, settings.phase);
    }
    free(workers);
    return status;
}
