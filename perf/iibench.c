/* Question: what does inserting a given number of rows cost, with three secondary indexes?
 *
 * The insert benchmark: rows of sales, each with a time, a cash register, a customer, a product, a
 * price and a text, in the order of their ids; indexes on (price, customerid), (cashregisterid,
 * price, customerid) and (price, dateandtime, customerid), all made before the first row. Each
 * client sends its next row when the last one was answered.
 * Usage:    iibench [options] ROWS; see usage() below
 * Output:   one line of JSON; with --progress a line for each twentieth on stderr. */
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "histogram.h"
#include "mongo.h"
#include "zipf.h"

enum {
    CASH_REGISTERS = 1000,
    CUSTOMERS = 100000,
    PRODUCTS = 10000,
    PRICE_MAX = 500,
    TEXT_BYTES_MAX = 65536
};
static const double ROWS_MAX = 1e12;

typedef struct {
    const char* uri;
    int64_t first, rows;
    int clients;
    int text_bytes;
    bool journaled;
    bool progress;
} settings_t;

typedef struct {
    const settings_t* settings;
    mongoc_client_t* client;
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
        "  --clients N     threads, one connection each (1)\n"
        "  --text N        bytes of the text in each row (100)\n"
        "  --from N        goes on behind so many rows that are there, and makes nothing anew (0)\n"
        "  --lazy          w:1 instead of j:true\n"
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

static mongoc_collection_t* open_collection(const settings_t* settings, mongoc_client_t* client) {
    mongoc_collection_t* collection = mongoc_client_get_collection(client, "perf", "iibench");
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    if (settings->journaled) mongoc_write_concern_set_journal(concern, true);
    mongoc_collection_set_write_concern(collection, concern);
    mongoc_write_concern_destroy(concern);
    return collection;
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
    mongoc_collection_t* collection = open_collection(settings, worker->client);
    for (;;) {
        const int64_t id = atomic_fetch_add(&next_row, 1);
        if (id >= settings->first + settings->rows) break;
        if (settings->progress) say_progress(settings, id);
        bson_t row = BSON_INITIALIZER;
        fill_row(worker, &row, id);
        const uint64_t start = now_ns();
        const bool ok = mongoc_collection_insert_one(collection, &row, NULL, NULL, &worker->error);
        histogram_add(&worker->latencies, now_ns() - start);
        worker->document_bytes += row.len;
        bson_destroy(&row);
        if (!ok) {
            worker->errors++;
            break;
        }
    }
    mongoc_collection_destroy(collection);
    return NULL;
}

static bool prepare(const settings_t* settings, mongoc_client_t* client, bson_error_t* error) {
    mongoc_collection_t* collection = open_collection(settings, client);
    mongoc_collection_drop(collection, NULL); /* fails when there is none yet */
    mongoc_collection_destroy(collection);
    bson_t* command =
        BCON_NEW("createIndexes", "iibench", "indexes", "[", "{", "key", "{", "price",
                 BCON_INT32(1), "customerid", BCON_INT32(1), "}", "name", "price_customer", "}",
                 "{", "key", "{", "cashregisterid", BCON_INT32(1), "price", BCON_INT32(1),
                 "customerid", BCON_INT32(1), "}", "name", "register_price_customer", "}", "{",
                 "key", "{", "price", BCON_INT32(1), "dateandtime", BCON_INT32(1), "customerid",
                 BCON_INT32(1), "}", "name", "price_time_customer", "}", "]");
    const bool ok = mongoc_client_command_simple(client, "perf", command, NULL, NULL, error);
    bson_destroy(command);
    return ok;
}

static int run(const settings_t* settings) {
    mongoc_uri_t* uri = mongo_uri(settings->uri);
    if (!uri) return 2;
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, settings->clients + 1);
    mongoc_client_pool_t* pool = mongoc_client_pool_new(uri);
    mongoc_client_t* first = mongoc_client_pool_pop(pool);
    bson_error_t error;
    const bool ok = settings->first > 0 || prepare(settings, first, &error);
    atomic_store(&next_row, settings->first);
    mongoc_client_pool_push(pool, first);
    if (!ok) {
        fprintf(stderr, "iibench: %s: %s\n", settings->uri, error.message);
        return 1;
    }
    worker_t* workers = calloc((size_t)settings->clients, sizeof(worker_t));
    started_ns = now_ns();
    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].client = mongoc_client_pool_pop(pool);
        workers[i].random = 0x9e3779b97f4a7c15u * (uint64_t)(settings->first + i + 1);
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    static histogram_t total;
    uint64_t errors = 0, document_bytes = 0;
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        histogram_merge(&total, &workers[i].latencies);
        document_bytes += workers[i].document_bytes;
        if (workers[i].errors > 0 && errors++ == 0)
            fprintf(stderr, "iibench: %s\n", workers[i].error.message);
        mongoc_client_pool_push(pool, workers[i].client);
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
    mongoc_client_pool_destroy(pool);
    mongoc_uri_destroy(uri);
    return errors ? 1 : 0;
}

int main(int argc, char** argv) {
    settings_t settings = {
        .uri = "mongodb://127.0.0.1:27017", .clients = 1, .text_bytes = 100, .journaled = true};
    const command_option_t options[] = {
        {"uri", OPTION_TEXT, &settings.uri, 0, 0},
        {"clients", OPTION_INT, &settings.clients, 1, 1000},
        {"text", OPTION_INT, &settings.text_bytes, 0, TEXT_BYTES_MAX},
        {"from", OPTION_INT64, &settings.first, 0, ROWS_MAX},
        {"lazy", OPTION_CLEARS, &settings.journaled, 0, 0},
        {"progress", OPTION_SETS, &settings.progress, 0, 0},
        {0},
    };
    const char* rows = take_options(argc, argv, options, usage);
    settings.rows = (int64_t)take_number("ROWS", rows, 1, ROWS_MAX, true);
    memset(text, 'x', sizeof text);
    mongo_begin();
    return run(&settings);
}
