/* Question: what does inserting a given number of rows cost, with three secondary indexes?
 *
 * The insert benchmark: rows of sales, each with a time, a cash register, a customer, a product, a
 * price and a text, in the order of their ids; indexes on (price, customerid), (cashregisterid,
 * price, customerid) and (price, dateandtime, customerid), all made before the first row. Each
 * client sends its next row when the last one was answered.
 * Usage:    iibench [options] ROWS; see usage() below
 * Output:   one line of JSON; with --progress a line for each twentieth on stderr. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command_line.h"
#include "histogram.h"
#include "zipf.h"

enum {
    CASH_REGISTERS = 1000,
    CUSTOMERS = 100000,
    PRODUCTS = 10000,
    PRICE_MAX = 500,
    TEXT_BYTES_MAX = 65536
};
static const double ROWS_MAX = 1e12;
static const client_place_t ROWS = {"perf", "iibench"};

typedef struct {
    const char* uri;
    int64_t first, rows;
    int clients;
    int text_bytes;
    bool journaled;
    bool old_wire;
    bool progress;
} settings_t;

typedef struct {
    const settings_t* settings;
    client_t* client;
    uint64_t random;
    uint64_t document_bytes;
    uint64_t errors;
    bson_error_t error;
    histogram_t latencies;
    pthread_t thread;
} worker_t;

static char text[TEXT_BYTES_MAX];
static atomic_int_least64_t next_row;
static uint64_t started_ns;

static void usage(FILE* out) {
    fputs(
        "usage: iibench [options] ROWS\n"
        "\n"
        "  --uri URI       mongodb://127.0.0.1:27017; perf.iibench there is dropped and made anew\n"
        "  --port PORT     the same of another port\n"
        "  --clients N     threads, one connection each (1)\n"
        "  --text N        bytes of the text in each row (100)\n"
        "  --from N        goes on behind so many rows that are there, and makes nothing anew (0)\n"
        "  --lazy          w:1 instead of j:true\n"
        "  --old-wire      as old drivers sent it: OP_INSERT with getLastError behind it; for\n"
        "                  servers that today's drivers refuse\n"
        "  --progress      says how far it is\n",
        out);
}

static int below(worker_t* worker, int limit) {
    return (int)(zipf_uniform(&worker->random) * limit);
}

static void fill_row(worker_t* worker, bson_t* row, int64_t id) {
    const int customer = below(worker, CUSTOMERS);
    bson_append_int64(row, "_id", 3, id);
    bson_append_date_time(row, "dateandtime", 11, (int64_t)(now_ns() / 1000000));
    bson_append_int32(row, "cashregisterid", 14, below(worker, CASH_REGISTERS));
    bson_append_int32(row, "customerid", 10, customer);
    bson_append_int32(row, "productid", 9, below(worker, PRODUCTS));
    bson_append_double(row, "price", 5,
                       (zipf_uniform(&worker->random) * PRICE_MAX + customer) / 100.0);
    bson_append_utf8(row, "text", 4, text, worker->settings->text_bytes);
}

static void say_progress(const settings_t* settings, int64_t id) {
    const int64_t row = id - settings->first;
    const int64_t part = settings->rows >= 20 ? settings->rows / 20 : 1;
    if (row == 0 || row % part != 0) return;
    const double seconds = (double)(now_ns() - started_ns) / 1e9;
    fprintf(stderr, "%lld of %lld rows, about %.0f s left\n", (long long)row,
            (long long)settings->rows, seconds / (double)row * (double)(settings->rows - row));
}

static void* work(void* argument) {
    worker_t* worker = argument;
    const settings_t* settings = worker->settings;
    for (;;) {
        const int64_t id = atomic_fetch_add(&next_row, 1);
        if (id >= settings->first + settings->rows) break;
        if (settings->progress) say_progress(settings, id);
        bson_t row = BSON_INITIALIZER;
        fill_row(worker, &row, id);
        const bson_t* const rows[] = {&row};
        const uint64_t start = now_ns();
        const bool ok =
            client_insert(worker->client, &ROWS, rows, 1, settings->journaled, &worker->error);
        histogram_add(&worker->latencies, now_ns() - start);
        worker->document_bytes += row.len;
        bson_destroy(&row);
        if (!ok) {
            worker->errors++;
            break;
        }
    }
    return NULL;
}

/* An index whose key is destroyed. */
static bool create_index(client_t* client, const char* name, bson_t* key, bson_error_t* error) {
    const bool ok = client_create_index(client, &ROWS, key, name, error);
    bson_destroy(key);
    return ok;
}

static bool prepare(client_t* client, bson_error_t* error) {
    client_drop(client, &ROWS);
    return create_index(client, "price_customer",
                        BCON_NEW("price", BCON_INT32(1), "customerid", BCON_INT32(1)), error) &&
           create_index(client, "register_price_customer",
                        BCON_NEW("cashregisterid", BCON_INT32(1), "price", BCON_INT32(1),
                                 "customerid", BCON_INT32(1)),
                        error) &&
           create_index(client, "price_time_customer",
                        BCON_NEW("price", BCON_INT32(1), "dateandtime", BCON_INT32(1), "customerid",
                                 BCON_INT32(1)),
                        error);
}

/* Connects all workers, and makes the collection anew where that is wanted. */
static bool begin(const settings_t* settings, clients_t* clients, worker_t* workers,
                  bson_error_t* error) {
    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].client = client_take(clients, error);
        if (!workers[i].client) return false;
        workers[i].random = 0x9e3779b97f4a7c15u * (uint64_t)(settings->first + i + 1);
    }
    atomic_store(&next_row, settings->first);
    return settings->first > 0 || prepare(workers[0].client, error);
}

static int run(const settings_t* settings) {
    clients_t* clients = clients_open(settings->uri, settings->old_wire, settings->clients);
    if (!clients) return 2;
    worker_t* workers = calloc((size_t)settings->clients, sizeof(worker_t));
    bson_error_t error;
    if (!begin(settings, clients, workers, &error)) {
        fprintf(stderr, "iibench: %s: %s\n", settings->uri, error.message);
        return 1;
    }
    started_ns = now_ns();
    for (int i = 0; i < settings->clients; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    static histogram_t total;
    uint64_t errors = 0, document_bytes = 0;
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        histogram_merge(&total, &workers[i].latencies);
        document_bytes += workers[i].document_bytes;
        if (workers[i].errors > 0 && errors++ == 0)
            fprintf(stderr, "iibench: %s\n", workers[i].error.message);
        client_give_back(workers[i].client);
    }
    const double seconds = (double)(now_ns() - started_ns) / 1e9;
    const double rows = total.count ? (double)total.count : 1;
    printf(
        "{\"rows\": %llu, \"clients\": %d, \"j\": %s, \"seconds\": %.3f, \"per_second\": %.1f, "
        "\"document_bytes\": %.1f, \"client_cpu_us\": %.1f, \"errors\": %llu, ",
        (unsigned long long)total.count, settings->clients, settings->journaled ? "true" : "false",
        seconds, (double)total.count / seconds, (double)document_bytes / rows,
        cpu_time().all * 1e6 / rows, (unsigned long long)errors);
    histogram_print_json(&total, stdout);
    printf("}\n");
    free(workers);
    clients_close(clients);
    return errors ? 1 : 0;
}

int main(int argc, char** argv) {
    settings_t settings = {
        .uri = "mongodb://127.0.0.1:27017", .clients = 1, .text_bytes = 100, .journaled = true};
    const command_option_t options[] = {
        {"uri", OPTION_TEXT, &settings.uri, 0, 0},
        {"port", OPTION_PORT, &settings.uri, 1, 65535},
        {"clients", OPTION_INT, &settings.clients, 1, 1000},
        {"text", OPTION_INT, &settings.text_bytes, 0, TEXT_BYTES_MAX},
        {"from", OPTION_INT64, &settings.first, 0, ROWS_MAX},
        {"lazy", OPTION_CLEARS, &settings.journaled, 0, 0},
        {"old-wire", OPTION_SETS, &settings.old_wire, 0, 0},
        {"progress", OPTION_SETS, &settings.progress, 0, 0},
        {0},
    };
    const char* rows = take_options(argc, argv, options, usage);
    settings.rows = (int64_t)take_number("ROWS", rows, 1, ROWS_MAX, true);
    memset(text, 'x', sizeof text);
    return run(&settings);
}
