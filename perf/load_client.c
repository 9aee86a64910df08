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
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "document_text.h"
#include "histogram.h"
#include "mongo.h"
#include "old_wire.h"
#include "zipf.h"

typedef struct {
    const char* uri;
    const char* workload;
    const char* collection;
    const char* text; /* what kind of it the documents have */
    char ns[128];     /* database and collection */
    int clients;
    double seconds;
    double warmup_seconds;
    int document_bytes; /* of the whole BSON document */
    int batch;
    bool journaled;
    bool old_wire;              /* speak as drivers did before wire version 6 */
    bool indexed;               /* documents carry k, a pseudo-random int64 with an index */
    int documents;              /* that ycsb_* reads and writes */
    const struct ycsb_mix* mix; /* of a ycsb_* workload */
    zipf_t zipf;
} settings_t;

/* A document is its size (4), _id (13), the text with type, name, size and NUL (8), and an end;
 * with --index, k (11) too. */
enum { DOCUMENT_FRAME = 4 + 13 + 8 + 1, K_BYTES = 1 + 2 + 8 };

/* One of these per client thread; joined with the thread. */
typedef struct {
    const settings_t* settings;
    mongoc_client_t* client;
    old_wire_t* old; /* with --old-wire, in place of `client` */
    int number;
    uint64_t next_id;
    uint64_t random;   /* state of zipf_next() */
    int64_t cursor_id; /* of range_scan; 0: none is open */
    uint64_t documents;
    uint64_t errors;
    histogram_t latencies;
    bson_error_t first_error;
    pthread_t thread;
} worker_t;

typedef bool (*operation_t)(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error);

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
        "  --old-wire          insert and ping as old drivers sent them: OP_INSERT with "
        "getLastError\n"
        "                      behind it, OP_QUERY; for servers that today's drivers refuse\n",
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

static bool insert_one(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    bson_t document = BSON_INITIALIZER;
    fill_document(worker, &document, take_id(worker));
    bool ok = mongoc_collection_insert_one(collection, &document, NULL, NULL, error);
    bson_destroy(&document);
    worker->documents += ok;
    return ok;
}

static bool insert_batch(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    int count = worker->settings->batch;
    bson_t** documents = malloc(sizeof(bson_t*) * (size_t)count);
    for (int i = 0; i < count; i++) {
        documents[i] = bson_new();
        fill_document(worker, documents[i], take_id(worker));
    }
    bool ok = mongoc_collection_insert_many(collection, (const bson_t**)documents, (size_t)count,
                                            NULL, NULL, error);
    for (int i = 0; i < count; i++)
        bson_destroy(documents[i]);
    free(documents);
    worker->documents += ok ? (uint64_t)count : 0;
    return ok;
}

/* The documents of insert_one and insert_batch, sent the old way. */
static bool insert_old(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    (void)collection;
    const settings_t* settings = worker->settings;
    int count = settings->batch;
    const bson_t** documents = calloc((size_t)count, sizeof(bson_t*));
    for (int i = 0; i < count; i++) {
        bson_t* document = bson_new();
        fill_document(worker, document, take_id(worker));
        documents[i] = document;
    }
    bool ok =
        old_wire_insert(worker->old, settings->ns, documents, count, settings->journaled, error);
    for (int i = 0; i < count; i++)
        bson_destroy((bson_t*)documents[i]);
    free(documents);
    worker->documents += ok ? (uint64_t)count : 0;
    return ok;
}

static bool ping_old(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    (void)collection;
    bson_t command = BSON_INITIALIZER;
    bson_append_int32(&command, "ping", 4, 1);
    bool ok = old_wire_command(worker->old, "admin", &command, error);
    bson_destroy(&command);
    return ok;
}

static bool ping(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    (void)collection;
    bson_t command = BSON_INITIALIZER;
    bson_append_int32(&command, "ping", 4, 1);
    bool ok = mongoc_client_command_simple(worker->client, "admin", &command, NULL, NULL, error);
    bson_destroy(&command);
    return ok;
}

static bool find(worker_t* worker, mongoc_collection_t* collection, int64_t id,
                 bson_error_t* error) {
    bson_t filter = BSON_INITIALIZER, options = BSON_INITIALIZER;
    bson_append_int64(&filter, "_id", 3, id);
    bson_append_int64(&options, "limit", 5, 1);
    bson_append_bool(&options, "singleBatch", 11, true);
    mongoc_cursor_t* cursor = mongoc_collection_find_with_opts(collection, &filter, &options, NULL);
    const bson_t* found;
    worker->documents += mongoc_cursor_next(cursor, &found);
    bool ok = !mongoc_cursor_error(cursor, error);
    mongoc_cursor_destroy(cursor);
    bson_destroy(&filter);
    bson_destroy(&options);
    return ok;
}

static bool find_one(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    return find(worker, collection, (int64_t)(worker->next_id++ % 100), error);
}

/* The server's part of a look-up: sent and read as ping is, so that the two can be compared. */
static bool find_raw(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    bson_t command = BSON_INITIALIZER, filter, reply;
    bson_append_utf8(&command, "find", 4, mongoc_collection_get_name(collection), -1);
    bson_append_document_begin(&command, "filter", 6, &filter);
    bson_append_int64(&filter, "_id", 3, (int64_t)(worker->next_id++ % 100));
    bson_append_document_end(&command, &filter);
    bson_append_int32(&command, "limit", 5, 1);
    bson_append_bool(&command, "singleBatch", 11, true);
    bool ok = mongoc_client_command_simple(worker->client, "perf", &command, NULL, &reply, error);
    bson_iter_t top, found;
    worker->documents += bson_iter_init(&top, &reply) &&
                         bson_iter_find_descendant(&top, "cursor.firstBatch.0", &found);
    bson_destroy(&reply);
    bson_destroy(&command);
    return ok;
}

/* The next batch of a scan over all ids, as plain commands: the client decodes nothing but counts.
 * One after the other all batches are an operation of their own. */
static bool range_scan(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    const char* name = mongoc_collection_get_name(collection);
    bson_t* command =
        worker->cursor_id == 0
            ? BCON_NEW("find", BCON_UTF8(name), "filter", "{", "_id", "{", "$gte", BCON_INT64(0),
                       "}", "}", "batchSize", BCON_INT32(worker->settings->batch))
            : BCON_NEW("getMore", BCON_INT64(worker->cursor_id), "collection", BCON_UTF8(name),
                       "batchSize", BCON_INT32(worker->settings->batch));
    const char* batch = worker->cursor_id == 0 ? "cursor.firstBatch" : "cursor.nextBatch";
    bson_t reply;
    bool ok = mongoc_client_command_simple(worker->client, "perf", command, NULL, &reply, error);
    bson_iter_t top, found, documents;
    worker->cursor_id = 0;
    if (ok && bson_iter_init(&top, &reply) && bson_iter_find_descendant(&top, "cursor.id", &found))
        worker->cursor_id = bson_iter_as_int64(&found);
    if (ok && bson_iter_init(&top, &reply) && bson_iter_find_descendant(&top, batch, &found) &&
        bson_iter_recurse(&found, &documents)) {
        while (bson_iter_next(&documents))
            worker->documents++;
    }
    bson_destroy(&reply);
    bson_destroy(command);
    return ok;
}

/* Overwrites the first ten characters of the text, so that the document keeps its size. */
static bool update(worker_t* worker, mongoc_collection_t* collection, int64_t id,
                   bson_error_t* error) {
    bson_t filter = BSON_INITIALIZER, change = BSON_INITIALIZER, set;
    char changed[TEXT_BYTES_MAX];
    int length = worker->settings->document_bytes - DOCUMENT_FRAME;
    memcpy(changed, text_of(id), (size_t)length);
    snprintf(changed, 11, "%010llu", (unsigned long long)(worker->next_id++ % 10000000000u));
    changed[10] = 'x';
    bson_append_int64(&filter, "_id", 3, id);
    bson_append_document_begin(&change, "$set", 4, &set);
    bson_append_utf8(&set, "t", 1, changed, length);
    bson_append_document_end(&change, &set);
    bool ok = mongoc_collection_update_one(collection, &filter, &change, NULL, NULL, error);
    bson_destroy(&filter);
    bson_destroy(&change);
    worker->documents += ok;
    return ok;
}

/* Reads up to 100 documents in the order of their ids. */
static bool scan(worker_t* worker, mongoc_collection_t* collection, int64_t id,
                 bson_error_t* error) {
    int64_t limit = 1 + (int64_t)(zipf_uniform(&worker->random) * 100);
    bson_t filter = BSON_INITIALIZER, from;
    bson_append_document_begin(&filter, "_id", 3, &from);
    bson_append_int64(&from, "$gte", 4, id);
    bson_append_document_end(&filter, &from);
    bson_t* options = BCON_NEW("sort", "{", "_id", BCON_INT32(1), "}", "limit", BCON_INT64(limit));
    mongoc_cursor_t* cursor = mongoc_collection_find_with_opts(collection, &filter, options, NULL);
    const bson_t* found;
    while (mongoc_cursor_next(cursor, &found))
        worker->documents++;
    bool ok = !mongoc_cursor_error(cursor, error);
    mongoc_cursor_destroy(cursor);
    bson_destroy(&filter);
    bson_destroy(options);
    return ok;
}

static bool read_modify_write(worker_t* worker, mongoc_collection_t* collection, int64_t id,
                              bson_error_t* error) {
    return find(worker, collection, id, error) && update(worker, collection, id, error);
}

/* The ids below it have been given to an insert, not all of which are answered. */
static atomic_int_least64_t ycsb_next_id;

static bool insert_next(worker_t* worker, mongoc_collection_t* collection, int64_t id,
                        bson_error_t* error) {
    (void)id;
    bson_t document = BSON_INITIALIZER;
    fill_document(worker, &document, atomic_fetch_add(&ycsb_next_id, 1));
    bool ok = mongoc_collection_insert_one(collection, &document, NULL, NULL, error);
    bson_destroy(&document);
    worker->documents += ok;
    return ok;
}

typedef bool (*ycsb_operation_t)(worker_t* worker, mongoc_collection_t* collection, int64_t id,
                                 bson_error_t* error);

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

static bool ycsb(worker_t* worker, mongoc_collection_t* collection, bson_error_t* error) {
    const settings_t* settings = worker->settings;
    const ycsb_mix_t* mix = settings->mix;
    int64_t id = mix->latest ? atomic_load(&ycsb_next_id) - 1 -
                                   (int64_t)zipf_next_rank(&settings->zipf, &worker->random)
                             : (int64_t)zipf_next(&settings->zipf, &worker->random);
    bool usual = zipf_uniform(&worker->random) < mix->usual_share;
    return (usual ? mix->usual : mix->other)(worker, collection, id, error);
}

/* NULL when there is no such workload, or none that can be sent the old way. */
static operation_t operation_of(const settings_t* settings) {
    if (settings->old_wire) {
        return strcmp(settings->workload, "insert") == 0 ? insert_old
               : strcmp(settings->workload, "ping") == 0 ? ping_old
                                                         : NULL;
    }
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

static mongoc_collection_t* open_collection(const settings_t* settings, mongoc_client_t* client) {
    mongoc_collection_t* collection =
        mongoc_client_get_collection(client, "perf", settings->collection);
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    if (settings->journaled) mongoc_write_concern_set_journal(concern, true);
    mongoc_collection_set_write_concern(collection, concern);
    mongoc_write_concern_destroy(concern);
    return collection;
}

static void* work(void* argument) {
    worker_t* worker = argument;
    operation_t operation = operation_of(worker->settings);
    mongoc_collection_t* collection =
        worker->old ? NULL : open_collection(worker->settings, worker->client);
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        bool counted = atomic_load_explicit(&measuring, memory_order_relaxed);
        uint64_t documents_before = worker->documents;
        uint64_t start = now_ns();
        bson_error_t error;
        bool ok = operation(worker, collection, &error);
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
    if (collection) mongoc_collection_destroy(collection);
    return NULL;
}

static void sleep_seconds(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time) != 0) {
    }
}

static bool create_index(const settings_t* settings, mongoc_client_t* client, bson_error_t* error) {
    bson_t* command =
        BCON_NEW("createIndexes", BCON_UTF8(settings->collection), "indexes", "[", "{", "key", "{",
                 "k", BCON_INT32(1), "}", "name", BCON_UTF8("k_1"), "}", "]");
    bool ok = mongoc_client_command_simple(client, "perf", command, NULL, NULL, error);
    bson_destroy(command);
    return ok;
}

/* Inserts the documents that a ycsb_* workload reads and writes. */
static bool load_documents(const settings_t* settings, mongoc_collection_t* collection,
                           bson_error_t* error) {
    worker_t loader = {.settings = settings};
    bool ok = true;
    while (ok && loader.next_id < (uint64_t)settings->documents) {
        ok = insert_one(&loader, collection, error);
    }
    return ok;
}

/* Returns false, with a sentence on stderr, when the server cannot be used. */
static bool prepare(const settings_t* settings, mongoc_client_pool_t* pool) {
    mongoc_client_t* client = mongoc_client_pool_pop(pool);
    mongoc_collection_t* collection = open_collection(settings, client);
    bool is_ycsb = settings->mix != NULL;
    bson_t command = BSON_INITIALIZER;
    bson_append_int32(&command, "ping", 4, 1);
    bson_error_t error;
    bool ok = mongoc_client_command_simple(client, "admin", &command, NULL, NULL, &error);
    if (ok && (is_ycsb || strcmp(settings->workload, "insert") == 0)) {
        mongoc_collection_drop(collection, NULL); /* fails when there is none yet */
    }
    if (ok && settings->indexed) ok = create_index(settings, client, &error);
    if (ok && is_ycsb) {
        mongoc_write_concern_t* concern = mongoc_write_concern_new();
        mongoc_write_concern_set_w(concern, 1);
        mongoc_collection_set_write_concern(collection, concern);
        mongoc_write_concern_destroy(concern);
        ok = load_documents(settings, collection, &error);
    }
    if (!ok) fprintf(stderr, "load_client: %s: %s\n", settings->uri, error.message);
    bson_destroy(&command);
    mongoc_collection_destroy(collection);
    mongoc_client_pool_push(pool, client);
    return ok;
}

/* The same with an old connection, for the two workloads that it has. */
static bool prepare_old(const settings_t* settings, const mongoc_host_list_t* host) {
    bson_error_t error;
    old_wire_t* wire = old_wire_connect(host->host, host->port, &error);
    bson_t* command = BCON_NEW("ping", BCON_INT32(1));
    bool ok = wire && old_wire_command(wire, "admin", command, &error);
    bson_destroy(command);
    if (ok && strcmp(settings->workload, "insert") == 0) {
        bson_error_t ignored; /* it fails when there is none yet */
        command = BCON_NEW("drop", BCON_UTF8(settings->collection));
        old_wire_command(wire, "perf", command, &ignored);
        bson_destroy(command);
        if (settings->indexed) { /* the oldest have no createIndexes */
            const bson_t* index = BCON_NEW("ns", BCON_UTF8(settings->ns), "key", "{", "k",
                                           BCON_INT32(1), "}", "name", BCON_UTF8("k_1"));
            ok = old_wire_insert(wire, "perf.system.indexes", &index, 1, false, &error);
            bson_destroy((bson_t*)index);
        }
    }
    if (!ok) fprintf(stderr, "load_client: %s: %s\n", settings->uri, error.message);
    old_wire_close(wire);
    return ok;
}

/* Connects all workers. False, with a sentence on stderr, when the server cannot be used. */
static bool connect_workers(const settings_t* settings, const mongoc_uri_t* uri,
                            mongoc_client_pool_t* pool, worker_t* workers) {
    const mongoc_host_list_t* host = mongoc_uri_get_hosts(uri);
    if (!(settings->old_wire ? prepare_old(settings, host) : prepare(settings, pool))) return false;
    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].number = i;
        workers[i].random = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
        if (!settings->old_wire) {
            workers[i].client = mongoc_client_pool_pop(pool);
            continue;
        }
        bson_error_t error;
        workers[i].old = old_wire_connect(host->host, host->port, &error);
        if (!workers[i].old) {
            fprintf(stderr, "load_client: %s: %s\n", settings->uri, error.message);
            return false;
        }
    }
    return true;
}

static int run(const settings_t* settings) {
    mongoc_uri_t* uri = mongo_uri(settings->uri);
    if (!uri) return 2;
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, settings->clients + 1);
    mongoc_client_pool_t* pool = mongoc_client_pool_new(uri);
    worker_t* workers = calloc((size_t)settings->clients, sizeof(worker_t));
    if (!connect_workers(settings, uri, pool, workers)) return 1;
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
        old_wire_close(workers[i].old);
        if (workers[i].client) mongoc_client_pool_push(pool, workers[i].client);
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
    mongoc_client_pool_destroy(pool);
    mongoc_uri_destroy(uri);
    return errors ? 1 : 0;
}

int main(int argc, char** argv) {
    settings_t settings = {.uri = "mongodb://127.0.0.1:27017",
                           .collection = "load",
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
        {"collection", OPTION_TEXT, &settings.collection, 0, 0},
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
        {0},
    };
    settings.workload = take_options(argc, argv, options, usage);
    if (!operation_of(&settings)) {
        fprintf(stderr,
                settings.old_wire ? "load_client: --old-wire has insert and ping, not '%s'\n"
                                  : "load_client: no workload '%s'; --help lists them\n",
                settings.workload);
        return 2;
    }
    if (snprintf(settings.ns, sizeof settings.ns, "perf.%s", settings.collection) >=
        (int)sizeof settings.ns - 8) {
        fputs("load_client: --collection can have 114 characters at most\n", stderr);
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
    mongo_begin();
    return run(&settings);
}
