/* Question: how long does each single insert of a lone client take, with a given write concern; and
 * of each of several clients at once?
 *
 * perf/insert_latency.py is the same for one client through pymongo; both print the same JSON
 * object. Usage:    insert_latency [options] COUNT; see usage() below Output:   one line of JSON;
 * "latencies_us" has them in their order, those of one client behind those of another. The insert
 * that makes the collection is not among them. Ends with 1 when a document has not arrived. */
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "histogram.h"
#include "mongo.h"

enum {
    COUNT_MAX = 10000000,
    BYTES_MIN = 50,
    BYTES_MAX = 1048576,
    CLIENTS_MAX = 1000,
    MEMBERS_MAX = 50, /* of a replica set */
};

/* The whole document without its text: size, _id, head and end of the text, end. */
enum { DOCUMENT_FRAME = 4 + 13 + 8 + 1 };

typedef struct {
    const char* uri;
    const char* concern;
    int64_t count; /* of each client */
    int clients;
    int document_bytes;
    double seconds_max;
} settings_t;

/* One of these for each client; joined with its thread. */
typedef struct {
    const settings_t* settings;
    mongoc_client_t* client;
    const char* text;
    int64_t first_id;
    uint64_t* latencies;
    int64_t made;
    bool ok;
    bson_error_t error; /* where it is not */
    pthread_t thread;
} worker_t;

static void usage(FILE* out) {
    fputs(
        "usage: insert_latency [options] COUNT\n"
        "\n"
        "  --uri URI          mongodb://127.0.0.1:27017; perf.latency there is dropped and made\n"
        "                     anew\n"
        "  --port PORT        the same of another port\n"
        "  --concern WHICH    w:0, w:1, w:2 and so on, w:majority, or j:1 (j:1)\n"
        "  --clients N        so many at once, each with COUNT inserts (1)\n"
        "  --bytes N          of each document (200)\n"
        "  --seconds-max S    ends after so long with what there is (3600)\n",
        out);
}

/* The number of members behind "w:", or -1. */
static int members_of(const char* name) {
    if (strncmp(name, "w:", 2) != 0 || name[2] < '0' || name[2] > '9') return -1;
    char* end;
    const long members = strtol(name + 2, &end, 10);
    return *end == '\0' && members <= MEMBERS_MAX ? (int)members : -1;
}

/* NULL where it is none. */
static mongoc_write_concern_t* concern_of(const char* name) {
    const bool is_majority = strcmp(name, "w:majority") == 0,
               is_journaled = strcmp(name, "j:1") == 0;
    const int members = is_journaled ? 1 : members_of(name);
    if (!is_majority && members < 0) return NULL;
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    if (is_majority)
        mongoc_write_concern_set_wmajority(concern, 0);
    else
        mongoc_write_concern_set_w(concern, members);
    if (is_journaled) mongoc_write_concern_set_journal(concern, true);
    return concern;
}

static void set_concern(mongoc_collection_t* collection, const char* name) {
    mongoc_write_concern_t* concern = concern_of(name);
    mongoc_collection_set_write_concern(collection, concern);
    mongoc_write_concern_destroy(concern);
}

static bool insert(mongoc_collection_t* collection, int64_t id, const char* text, int text_bytes,
                   bson_error_t* error) {
    bson_t document = BSON_INITIALIZER;
    bson_append_int64(&document, "_id", 3, id);
    bson_append_utf8(&document, "t", 1, text, text_bytes);
    const bool ok = mongoc_collection_insert_one(collection, &document, NULL, NULL, error);
    bson_destroy(&document);
    return ok;
}

/* How many documents have arrived; asked on the connection that a client's inserts went over, so
 * that none of these is on its way any more. -1 on an error. */
static int64_t arrived(mongoc_client_t* client, bson_error_t* error) {
    bson_t *command = BCON_NEW("count", "latency"), reply;
    int64_t found = -1;
    bson_iter_t n;
    if (mongoc_client_command_simple(client, "perf", command, NULL, &reply, error) &&
        bson_iter_init_find(&n, &reply, "n"))
        found = bson_iter_as_int64(&n);
    bson_destroy(&reply);
    bson_destroy(command);
    return found;
}

static int fail(const settings_t* settings, const char* why) {
    fprintf(stderr, "insert_latency: %s: %s\n", settings->uri, why);
    return 1;
}

static void print(const settings_t* settings, const worker_t* workers, int64_t inserts,
                  double seconds, double cpu_seconds) {
    printf(
        "{\"client\": \"C\", \"concern\": \"%s\", \"clients\": %d, \"inserts\": %lld, "
        "\"document_bytes\": %d, \"seconds\": %.6f, \"client_cpu_us\": %.2f, \"latencies_us\": [",
        settings->concern, settings->clients, (long long)inserts, settings->document_bytes, seconds,
        cpu_seconds * 1e6 / (double)(inserts ? inserts : 1));
    const char* between = "";
    for (int i = 0; i < settings->clients; i++) {
        for (int64_t j = 0; j < workers[i].made; j++) {
            printf("%s%.2f", between, (double)workers[i].latencies[j] / 1e3);
            between = ", ";
        }
    }
    printf("]}\n");
}

static int text_bytes_of(const settings_t* settings) {
    return settings->document_bytes - DOCUMENT_FRAME;
}

static void* work(void* argument) {
    worker_t* worker = argument;
    const settings_t* settings = worker->settings;
    mongoc_collection_t* collection =
        mongoc_client_get_collection(worker->client, "perf", "latency");
    set_concern(collection, settings->concern);
    uint64_t before = now_ns();
    const uint64_t limit = before + (uint64_t)(settings->seconds_max * 1e9);
    while (worker->ok && worker->made < settings->count && before < limit) {
        worker->ok = insert(collection, worker->first_id + worker->made, worker->text,
                            text_bytes_of(settings), &worker->error);
        const uint64_t after = now_ns();
        if (worker->ok) worker->latencies[worker->made++] = after - before;
        before = after;
    }
    mongoc_collection_destroy(collection);
    return NULL;
}

/* Makes the collection anew, with a document, and a connection for each client. */
static bool prepare(const settings_t* settings, worker_t* workers, bson_error_t* error) {
    mongoc_collection_t* collection =
        mongoc_client_get_collection(workers[0].client, "perf", "latency");
    mongoc_collection_drop(collection, NULL); /* fails when there is none yet */
    set_concern(collection, "w:1");
    bool ok = insert(collection, 0, workers[0].text, text_bytes_of(settings), error);
    mongoc_collection_destroy(collection);
    for (int i = 1; i < settings->clients && ok; i++)
        ok = arrived(workers[i].client, error) >= 0;
    return ok;
}

static int measure(const settings_t* settings, worker_t* workers) {
    bson_error_t error = {0};
    if (!prepare(settings, workers, &error)) return fail(settings, error.message);
    const double cpu_before = cpu_time().all;
    const uint64_t start = now_ns();
    for (int i = 0; i < settings->clients; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fprintf(stderr, "insert_latency: no thread for client %d\n", i);
            exit(1);
        }
    }
    int64_t made = 0;
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        made += workers[i].made;
    }
    const double seconds = (double)(now_ns() - start) / 1e9;
    const double cpu_seconds = cpu_time().all - cpu_before;
    int64_t found = 0;
    for (int i = 0; i < settings->clients; i++) {
        if (!workers[i].ok) return fail(settings, workers[i].error.message);
        found = arrived(workers[i].client, &error);
        if (found < 0) return fail(settings, error.message);
    }
    if (found != made + 1) {
        char missing[100];
        snprintf(missing, sizeof missing, "%lld of %lld documents have arrived",
                 (long long)found - 1, (long long)made);
        return fail(settings, missing);
    }
    print(settings, workers, made, seconds, cpu_seconds);
    return 0;
}

static int run(const settings_t* settings, const mongoc_uri_t* uri) {
    char* text = malloc((size_t)settings->document_bytes);
    memset(text, 'x', (size_t)settings->document_bytes);
    worker_t* workers = calloc((size_t)settings->clients, sizeof *workers);
    for (int i = 0; i < settings->clients; i++) {
        workers[i] = (worker_t){.settings = settings,
                                .client = mongoc_client_new_from_uri(uri),
                                .text = text,
                                .first_id = 1 + i * settings->count,
                                .latencies = calloc((size_t)settings->count, sizeof(uint64_t)),
                                .ok = true};
    }
    const int status = measure(settings, workers);
    for (int i = 0; i < settings->clients; i++) {
        mongoc_client_destroy(workers[i].client);
        free(workers[i].latencies);
    }
    free(workers);
    free(text);
    return status;
}

int main(int argc, char** argv) {
    settings_t settings = {.uri = "mongodb://127.0.0.1:27017",
                           .concern = "j:1",
                           .clients = 1,
                           .document_bytes = 200,
                           .seconds_max = 3600};
    const command_option_t options[] = {
        {"uri", OPTION_TEXT, &settings.uri, 0, 0},
        {"port", OPTION_PORT, &settings.uri, 1, 65535},
        {"concern", OPTION_TEXT, &settings.concern, 0, 0},
        {"clients", OPTION_INT, &settings.clients, 1, CLIENTS_MAX},
        {"bytes", OPTION_INT, &settings.document_bytes, BYTES_MIN, BYTES_MAX},
        {"seconds-max", OPTION_REAL, &settings.seconds_max, 0.001, 86400},
        {0},
    };
    const char* count = take_options(argc, argv, options, usage);
    settings.count = (int64_t)take_number("COUNT", count, 1, COUNT_MAX, true);
    mongoc_write_concern_t* concern = concern_of(settings.concern);
    if (!concern) {
        fprintf(stderr,
                "insert_latency: --concern is w: and a number of members, w:majority, or j:1, not "
                "'%s'\n",
                settings.concern);
        return 2;
    }
    mongoc_write_concern_destroy(concern);
    mongo_begin();
    mongoc_uri_t* uri = mongo_uri(settings.uri);
    if (!uri) return 2;
    const int status = run(&settings, uri);
    mongoc_uri_destroy(uri);
    return status;
}
