/* Question: how many operations a second does a server answer, and how long does each take?
 *
 * A closed loop: every client thread sends its next operation when the last one was answered.
 * Not for:  open-loop (arrival rate) measurements.
 * Usage:    load_client WORKLOAD [options]; see usage() below
 * Overhead: about 15 us of client CPU per operation; on a small machine it shares the cores with
 *           the server, so quote both.
 *
 * Example output, one line of JSON:
 *   {"workload": "insert", "clients": 8, "j": true, "document_bytes": 200, "batch": 1,
 *    "seconds": 5.00, "operations": 1175, "documents": 1175, "per_second": 234.9, "errors": 0,
 *    "mean_us": 34010.3, "p50_us": 34340.9, "p90_us": 34603.0, ..., "client_cpu_us": 31.0,
 *    "client_kernel_us": 19.0}
 * Reading it: 8 clients got 235 durable inserts a second, half of them within 34 ms. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command_line.h"
#include "document_text.h"
#include "histogram.h"
#include "zipf.h"

typedef struct {
    const char* uri;
    const char* workload;
    client_place_t place;
    const char* text; /* what kind of it the documents have */
    int clients;
    double seconds;
    double warmup_seconds;
    int document_bytes; /* of the whole BSON document */
    int batch;
    bool journaled;
    bool old_wire;              /* speak as drivers did before wire version 6 */
    bool raw;                   /* without a driver */
    bool indexed;               /* documents carry k, a pseudo-random int64 with an index */
    int documents;              /* that ycsb_* reads and writes */
    const struct ycsb_mix* mix; /* of a ycsb_* workload */
    zipf_t zipf;
} settings_t;

/* A document is its size (4), _id (13), the text with type, name, size and NUL (8), and an end;
 * with --index, k (11) too. */
enum { DOCUMENT_FRAME = 4 + 13 + 8 + 1, K_BYTES = 1 + 2 + 8 };

enum { COLLECTION_BYTES_MAX = 114 }; /* of a name: the server's limit of 120 with the database's */

/* One of these per client thread; joined with the thread. */
typedef struct {
    const settings_t* settings;
    client_t* client;
    int number;
    uint64_t next_id;
    uint64_t random;          /* state of zipf_next() */
    client_reading_t reading; /* of range_scan */
    uint64_t documents;
    uint64_t errors;
    histogram_t latencies;
    bson_error_t first_error;
    pthread_t thread;
} worker_t;

typedef bool (*operation_t)(worker_t* worker, bson_error_t* error);

static atomic_bool measuring;
static atomic_bool stopping;

static void usage(FILE* out) {
    fputs(
        "usage: load_client WORKLOAD [options]\n"
        "\n"
        "  insert       insertOne with _id (int64) and a text, or --batch documents at once\n"
        "  ping         the ping command: what a round trip costs\n"
        "  find_one     one document by _id; run insert into the same collection first\n"
        "  find_raw     the same as a plain command, as ping is: without the client's cursor\n"
        "  range_scan   batches of --batch documents by the _id index, to the end and again\n"
        "  ycsb_a       half reads, half updates of --documents documents, some far more often\n"
        "  ycsb_b       95 % reads, 5 % updates;    ycsb_c       only reads\n"
        "  ycsb_d       95 % reads, mostly of the newest documents, 5 % inserts\n"
        "  ycsb_e       95 % scans of up to 100 documents, 5 % inserts\n"
        "  ycsb_f       half reads, half reads followed by an update\n"
        "\n"
        "  --uri URI           mongodb://127.0.0.1:27017\n"
        "  --port PORT         the same of another port\n"
        "  --collection NAME   in the database perf (load); insert and ycsb_* empty it first\n"
        "  --clients N         threads, one connection each (1)\n"
        "  --seconds S         measured time (5)\n"
        "  --warmup S          time before it that is not counted (1)\n"
        "  --bytes N           size of an inserted document (200; 50 to 1048576)\n"
        "  --text KIND         what the text is of: x (that letter), random (no repetitions), or "
        "a\n"
        "                      file, of which it has the words in any order (x)\n"
        "  --batch N           documents per insert, or per batch of a range_scan (1)\n"
        "  --documents N       for ycsb_*: inserted before the start (10000)\n"
        "  --no-journal        w:1 instead of j:true\n"
        "  --index             for insert: a second field, k, pseudo-random, with an index\n"
        "  --raw               for insert and ping: messages by hand, not by libmongoc, which "
        "takes\n"
        "                      a multiple of the time\n"
        "  --old-wire          as old drivers sent it: writes with getLastError behind them, "
        "reads\n"
        "                      and commands by OP_QUERY; for servers that today's drivers refuse\n",
        out);
}

static void fill_document(const worker_t* worker, bson_t* document, int64_t id) {
    bson_append_int64(document, "_id", 3, id);
    int frame = DOCUMENT_FRAME;
    if (worker->settings->indexed) {
        bson_append_int64(document, "k", 1, (int64_t)((uint64_t)id * 0x9e3779b97f4a7c15u));
        frame += K_BYTES;
    }
    bson_append_utf8(document, "t", 1, text_of(id), worker->settings->document_bytes - frame);
}

/* Ids of different clients never meet: the client's number is in the high bits. */
static int64_t take_id(worker_t* worker) {
    return ((int64_t)worker->number << 40) + (int64_t)worker->next_id++;
}

static bool insert_document(worker_t* worker, int64_t id, bson_error_t* error) {
    const settings_t* settings = worker->settings;
    bson_t document = BSON_INITIALIZER;
    fill_document(worker, &document, id);
    const bson_t* const documents[] = {&document};
    bool ok =
        client_insert(worker->client, &settings->place, documents, 1, settings->journaled, error);
    bson_destroy(&document);
    worker->documents += ok;
    return ok;
}

static bool insert_one(worker_t* worker, bson_error_t* error) {
    return insert_document(worker, take_id(worker), error);
}

static bool insert_batch(worker_t* worker, bson_error_t* error) {
    const settings_t* settings = worker->settings;
    int count = settings->batch;
    bson_t** documents = calloc((size_t)count, sizeof(bson_t*));
    for (int i = 0; i < count; i++) {
        documents[i] = bson_new();
        fill_document(worker, documents[i], take_id(worker));
    }
    bool ok = client_insert(worker->client, &settings->place, (const bson_t* const*)documents,
                            count, settings->journaled, error);
    for (int i = 0; i < count; i++)
        bson_destroy(documents[i]);
    free(documents);
    worker->documents += ok ? (uint64_t)count : 0;
    return ok;
}

static bool ping(worker_t* worker, bson_error_t* error) {
    bson_t command = BSON_INITIALIZER;
    bson_append_int32(&command, "ping", 4, 1);
    bool ok = client_command(worker->client, "admin", &command, NULL, error);
    bson_destroy(&command);
    return ok;
}

static bool count_found(worker_t* worker, int64_t found) {
    worker->documents += found > 0 ? (uint64_t)found : 0;
    return found >= 0;
}

static bool find_by_id(worker_t* worker, int64_t id, bool by_cursor, bson_error_t* error) {
    bson_t filter = BSON_INITIALIZER;
    bson_append_int64(&filter, "_id", 3, id);
    const client_query_t query = {
        .place = &worker->settings->place, .filter = &filter, .limit = 1, .by_cursor = by_cursor};
    int64_t found = client_find(worker->client, &query, error);
    bson_destroy(&filter);
    return count_found(worker, found);
}

static bool find(worker_t* worker, int64_t id, bson_error_t* error) {
    return find_by_id(worker, id, true, error);
}

static bool find_one(worker_t* worker, bson_error_t* error) {
    return find(worker, (int64_t)(worker->next_id++ % 100), error);
}

/* The server's part of a look-up: sent and read as ping is, so that the two can be compared. */
static bool find_raw(worker_t* worker, bson_error_t* error) {
    return find_by_id(worker, (int64_t)(worker->next_id++ % 100), false, error);
}

/* {_id: {$gte: id}} */
static void from_id(bson_t* filter, int64_t id) {
    bson_t from;
    bson_append_document_begin(filter, "_id", 3, &from);
    bson_append_int64(&from, "$gte", 4, id);
    bson_append_document_end(filter, &from);
}

/* The next batch of a scan over all ids, as plain commands: the client decodes nothing but counts.
 * One after the other all batches are an operation of their own. */
static bool range_scan(worker_t* worker, bson_error_t* error) {
    bson_t filter = BSON_INITIALIZER;
    from_id(&filter, 0);
    const client_query_t query = {
        .place = &worker->settings->place, .filter = &filter, .batch = worker->settings->batch};
    int64_t found = client_read(worker->client, &query, &worker->reading, error);
    bson_destroy(&filter);
    return count_found(worker, found);
}

/* Overwrites the first ten characters of the text, so that the document keeps its size. */
static bool update(worker_t* worker, int64_t id, bson_error_t* error) {
    const settings_t* settings = worker->settings;
    bson_t filter = BSON_INITIALIZER, change = BSON_INITIALIZER, set;
    char changed[TEXT_BYTES_MAX];
    int length = settings->document_bytes - DOCUMENT_FRAME;
    memcpy(changed, text_of(id), (size_t)length);
    snprintf(changed, 11, "%010llu", (unsigned long long)(worker->next_id++ % 10000000000u));
    changed[10] = 'x';
    bson_append_int64(&filter, "_id", 3, id);
    bson_append_document_begin(&change, "$set", 4, &set);
    bson_append_utf8(&set, "t", 1, changed, length);
    bson_append_document_end(&change, &set);
    bool ok = client_update_one(worker->client, &settings->place, &filter, &change, false,
                                settings->journaled, error) >= 0;
    bson_destroy(&filter);
    bson_destroy(&change);
    worker->documents += ok;
    return ok;
}

/* Reads up to 100 documents in the order of their ids. */
static bool scan(worker_t* worker, int64_t id, bson_error_t* error) {
    bson_t filter = BSON_INITIALIZER, sort = BSON_INITIALIZER;
    from_id(&filter, id);
    bson_append_int32(&sort, "_id", 3, 1);
    const client_query_t query = {.place = &worker->settings->place,
                                  .filter = &filter,
                                  .sort = &sort,
                                  .limit = 1 + (int)(zipf_uniform(&worker->random) * 100),
                                  .by_cursor = true};
    int64_t found = client_find(worker->client, &query, error);
    bson_destroy(&filter);
    bson_destroy(&sort);
    return count_found(worker, found);
}

static bool read_modify_write(worker_t* worker, int64_t id, bson_error_t* error) {
    return find(worker, id, error) && update(worker, id, error);
}

/* The ids below it have been given to an insert, not all of which are answered. */
static atomic_int_least64_t ycsb_next_id;

static bool insert_next(worker_t* worker, int64_t id, bson_error_t* error) {
    (void)id;
    return insert_document(worker, atomic_fetch_add(&ycsb_next_id, 1), error);
}

typedef bool (*ycsb_operation_t)(worker_t* worker, int64_t id, bson_error_t* error);

/* YCSB's core workloads: one operation with a share of `usual_share`, another for the rest. */
typedef struct ycsb_mix {
    const char* workload;
    double usual_share;
    ycsb_operation_t usual, other;
    bool latest; /* the newest documents are the most popular ones */
} ycsb_mix_t;

static const ycsb_mix_t YCSB_MIXES[] = {
    {"ycsb_a", 0.5, find, update, false},       {"ycsb_b", 0.95, find, update, false},
    {"ycsb_c", 1, find, find, false},           {"ycsb_d", 0.95, find, insert_next, true},
    {"ycsb_e", 0.95, scan, insert_next, false}, {"ycsb_f", 0.5, find, read_modify_write, false},
};

static const ycsb_mix_t* ycsb_mix_of(const char* workload) {
    for (size_t i = 0; i < sizeof YCSB_MIXES / sizeof YCSB_MIXES[0]; i++) {
        if (strcmp(workload, YCSB_MIXES[i].workload) == 0) return &YCSB_MIXES[i];
    }
    return NULL;
}

static bool ycsb(worker_t* worker, bson_error_t* error) {
    const settings_t* settings = worker->settings;
    const ycsb_mix_t* mix = settings->mix;
    int64_t id = mix->latest ? atomic_load(&ycsb_next_id) - 1 -
                                   (int64_t)zipf_next_rank(&settings->zipf, &worker->random)
                             : (int64_t)zipf_next(&settings->zipf, &worker->random);
    bool usual = zipf_uniform(&worker->random) < mix->usual_share;
    return (usual ? mix->usual : mix->other)(worker, id, error);
}

/* NULL when there is no such workload. */
static operation_t operation_of(const settings_t* settings) {
    if (strcmp(settings->workload, "insert") == 0) {
        return settings->batch > 1 ? insert_batch : insert_one;
    }
    if (strcmp(settings->workload, "ping") == 0) return ping;
    if (strcmp(settings->workload, "find_one") == 0) return find_one;
    if (strcmp(settings->workload, "find_raw") == 0) return find_raw;
    if (strcmp(settings->workload, "range_scan") == 0) return range_scan;
    if (ycsb_mix_of(settings->workload)) return ycsb;
    return NULL;
}

static void* work(void* argument) {
    worker_t* worker = argument;
    operation_t operation = operation_of(worker->settings);
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        bool counted = atomic_load_explicit(&measuring, memory_order_relaxed);
        uint64_t documents_before = worker->documents;
        uint64_t start = now_ns();
        bson_error_t error;
        bool ok = operation(worker, &error);
        if (!counted) {
            worker->documents = documents_before;
        } else {
            histogram_add(&worker->latencies, now_ns() - start);
        }
        if (!ok) {
            if (worker->errors++ == 0) worker->first_error = error;
            break;
        }
    }
    return NULL;
}

static void sleep_seconds(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time) != 0) {
    }
}

static bool create_index(const settings_t* settings, client_t* client, bson_error_t* error) {
    bson_t key = BSON_INITIALIZER;
    bson_append_int32(&key, "k", 1, 1);
    bool ok = client_create_index(client, &settings->place, &key, "k_1", error);
    bson_destroy(&key);
    return ok;
}

/* Inserts the documents that a ycsb_* workload reads and writes. */
static bool load_documents(const settings_t* settings, client_t* client, bson_error_t* error) {
    settings_t lazy = *settings;
    lazy.journaled = false;
    worker_t loader = {.settings = &lazy, .client = client};
    bool ok = true;
    while (ok && loader.next_id < (uint64_t)settings->documents) {
        ok = insert_one(&loader, error);
    }
    return ok;
}

/* Makes what the workload wants to be there. */
static bool prepare(const settings_t* settings, client_t* client, bson_error_t* error) {
    bool is_ycsb = settings->mix != NULL;
    if (is_ycsb || strcmp(settings->workload, "insert") == 0) client_drop(client, &settings->place);
    return (!settings->indexed || create_index(settings, client, error)) &&
           (!is_ycsb || load_documents(settings, client, error));
}

/* Connects all workers. False, with a sentence on stderr, when the server cannot be used. */
static bool connect_workers(const settings_t* settings, clients_t* clients, worker_t* workers) {
    bson_error_t error;
    bool ok = true;
    for (int i = 0; ok && i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].number = i;
        workers[i].random = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
        workers[i].client = client_take(clients, &error);
        ok = workers[i].client != NULL;
    }
    ok = ok && prepare(settings, workers[0].client, &error);
    if (!ok) fprintf(stderr, "load_client: %s: %s\n", settings->uri, error.message);
    return ok;
}

static int run(const settings_t* settings) {
    clients_t* clients = settings->raw
                             ? clients_open_raw(settings->uri, settings->clients)
                             : clients_open(settings->uri, settings->old_wire, settings->clients);
    if (!clients) return 2;
    worker_t* workers = calloc((size_t)settings->clients, sizeof(worker_t));
    if (!connect_workers(settings, clients, workers)) return 1;
    for (int i = 0; i < settings->clients; i++) {
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    sleep_seconds(settings->warmup_seconds);
    cpu_time_t cpu_before = cpu_time();
    uint64_t start = now_ns();
    atomic_store(&measuring, true);
    sleep_seconds(settings->seconds);
    atomic_store(&stopping, true);
    double elapsed = (double)(now_ns() - start) / 1e9;
    cpu_time_t cpu = cpu_time();

    static histogram_t total;
    uint64_t documents = 0, errors = 0;
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        histogram_merge(&total, &workers[i].latencies);
        documents += workers[i].documents;
        if (workers[i].errors > 0 && errors == 0) {
            fprintf(stderr, "load_client: %s\n", workers[i].first_error.message);
        }
        errors += workers[i].errors;
        client_give_back(workers[i].client);
    }
    printf(
        "{\"workload\": \"%s\", \"clients\": %d, \"j\": %s, \"document_bytes\": %d, "
        "\"batch\": %d, \"seconds\": %.2f, \"operations\": %llu, \"documents\": %llu, "
        "\"per_second\": %.1f, \"errors\": %llu, ",
        settings->workload, settings->clients, settings->journaled ? "true" : "false",
        settings->document_bytes, settings->batch, elapsed, (unsigned long long)total.count,
        (unsigned long long)documents, (double)total.count / elapsed, (unsigned long long)errors);
    histogram_print_json(&total, stdout);
    double per_operation = total.count ? 1e6 / (double)total.count : 0;
    printf(", \"client_cpu_us\": %.1f, \"client_kernel_us\": %.1f}\n",
           (cpu.all - cpu_before.all) * per_operation,
           (cpu.kernel - cpu_before.kernel) * per_operation);
    free(workers);
    clients_close(clients);
    return errors ? 1 : 0;
}

int main(int argc, char** argv) {
    settings_t settings = {.uri = "mongodb://127.0.0.1:27017",
                           .place = {"perf", "load"},
                           .text = "x",
                           .clients = 1,
                           .seconds = 5,
                           .warmup_seconds = 1,
                           .document_bytes = 200,
                           .batch = 1,
                           .journaled = true,
                           .documents = 10000};
    const command_option_t options[] = {
        {"uri", OPTION_TEXT, &settings.uri, 0, 0},
        {"port", OPTION_PORT, &settings.uri, 1, 65535},
        {"collection", OPTION_TEXT, &settings.place.collection, 0, 0},
        {"clients", OPTION_INT, &settings.clients, 1, 100000},
        {"text", OPTION_TEXT, &settings.text, 0, 0},
        {"seconds", OPTION_REAL, &settings.seconds, 0.001, 1e9},
        {"warmup", OPTION_REAL, &settings.warmup_seconds, 0, 1e9},
        {"bytes", OPTION_INT, &settings.document_bytes, 50, TEXT_BYTES_MAX},
        {"batch", OPTION_INT, &settings.batch, 1, 1e9},
        {"documents", OPTION_INT, &settings.documents, 1, 1e9},
        {"no-journal", OPTION_CLEARS, &settings.journaled, 0, 0},
        {"index", OPTION_SETS, &settings.indexed, 0, 0},
        {"old-wire", OPTION_SETS, &settings.old_wire, 0, 0},
        {"raw", OPTION_SETS, &settings.raw, 0, 0},
        {0},
    };
    settings.workload = take_options(argc, argv, options, usage);
    if (!operation_of(&settings)) {
        fprintf(stderr, "load_client: no workload '%s'; --help lists them\n", settings.workload);
        return 2;
    }
    operation_t operation = operation_of(&settings);
    if (settings.raw &&
        (settings.indexed || settings.old_wire ||
         (operation != insert_one && operation != insert_batch && operation != ping))) {
        fputs("load_client: --raw is for insert and ping, without --index and --old-wire\n",
              stderr);
        return 2;
    }
    if (strlen(settings.place.collection) > COLLECTION_BYTES_MAX) {
        fprintf(stderr, "load_client: --collection can have %d characters at most\n",
                COLLECTION_BYTES_MAX);
        return 2;
    }
    settings.mix = ycsb_mix_of(settings.workload);
    atomic_store(&ycsb_next_id, settings.documents);
    zipf_init(&settings.zipf, (uint64_t)settings.documents);
    if (!fill_text(settings.text)) {
        fprintf(stderr, "load_client: --text is x, random or a file with words, and '%s' is none\n",
                settings.text);
        return 2;
    }
    return run(&settings);
}
