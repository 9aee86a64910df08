/* Question: how long does each single insert of a lone client take, with a given write concern?
 *
 * perf/insert_latency.py is the same through pymongo; both print the same JSON object.
 * Usage:    insert_latency [options] COUNT; see usage() below
 * Output:   one line of JSON; "latencies_us" has them in their order. The insert that makes the
 *           collection is not among them. Ends with 1 when a document has not arrived. */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "histogram.h"
#include "mongo.h"

enum { COUNT_MAX = 10000000, BYTES_MIN = 50, BYTES_MAX = 1048576 };

/* The whole document without its text: size, _id, head and end of the text, end. */
enum { DOCUMENT_FRAME = 4 + 13 + 8 + 1 };

typedef struct {
    const char* uri;
    const char* concern;
    int64_t count;
    int document_bytes;
    double seconds_max;
} settings_t;

static void usage(FILE* out) {
    fputs(
        "usage: insert_latency [options] COUNT\n"
        "\n"
        "  --uri URI          mongodb://127.0.0.1:27017; perf.latency there is dropped and made\n"
        "                     anew\n"
        "  --concern WHICH    w:0, w:1 or j:1 (j:1)\n"
        "  --bytes N          of each document (200)\n"
        "  --seconds-max S    ends after so long with what there is (3600)\n",
        out);
}

static mongoc_write_concern_t* concern_of(const char* name) {
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(
        concern, strcmp(name, "w:0") == 0 ? MONGOC_WRITE_CONCERN_W_UNACKNOWLEDGED : 1);
    if (strcmp(name, "j:1") == 0) mongoc_write_concern_set_journal(concern, true);
    return concern;
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

/* How many documents have arrived; asked on the connection that the inserts went over, so that none
 * is on its way any more. -1 on an error. */
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

static void print(const settings_t* settings, const uint64_t* latencies, int64_t count,
                  double seconds, double cpu_seconds) {
    printf(
        "{\"client\": \"C\", \"concern\": \"%s\", \"inserts\": %lld, \"document_bytes\": %d, "
        "\"seconds\": %.6f, \"client_cpu_us\": %.2f, \"latencies_us\": [",
        settings->concern, (long long)count, settings->document_bytes, seconds,
        cpu_seconds * 1e6 / (double)(count ? count : 1));
    for (int64_t i = 0; i < count; i++)
        printf("%s%.2f", i ? ", " : "", (double)latencies[i] / 1e3);
    printf("]}\n");
}

static int measure(const settings_t* settings, mongoc_client_t* client) {
    mongoc_collection_t* collection = mongoc_client_get_collection(client, "perf", "latency");
    bson_error_t error = {0};
    mongoc_collection_drop(collection, NULL); /* fails when there is none yet */
    const int text_bytes = settings->document_bytes - DOCUMENT_FRAME;
    char* text = malloc((size_t)text_bytes);
    memset(text, 'x', (size_t)text_bytes);
    uint64_t* latencies = calloc((size_t)settings->count, sizeof *latencies);
    mongoc_write_concern_t* concern = concern_of("w:1");
    mongoc_collection_set_write_concern(collection, concern);
    mongoc_write_concern_destroy(concern);
    bool ok = insert(collection, 0, text, text_bytes, &error);
    concern = concern_of(settings->concern);
    mongoc_collection_set_write_concern(collection, concern);
    mongoc_write_concern_destroy(concern);

    const double cpu_before = cpu_time().all;
    const uint64_t start = now_ns(), limit = start + (uint64_t)(settings->seconds_max * 1e9);
    uint64_t before = start;
    int64_t made = 0;
    while (ok && made < settings->count && before < limit) {
        ok = insert(collection, made + 1, text, text_bytes, &error);
        const uint64_t after = now_ns();
        if (ok) latencies[made++] = after - before;
        before = after;
    }
    const double cpu_seconds = cpu_time().all - cpu_before;
    int status = 0;
    if (!ok) {
        status = fail(settings, error.message);
    } else {
        const int64_t found = arrived(client, &error);
        char missing[100];
        snprintf(missing, sizeof missing, "%lld of %lld documents have arrived",
                 (long long)found - 1, (long long)made);
        if (found != made + 1) status = fail(settings, found < 0 ? error.message : missing);
    }
    if (status == 0) print(settings, latencies, made, (double)(before - start) / 1e9, cpu_seconds);
    free(latencies);
    free(text);
    mongoc_collection_destroy(collection);
    return status;
}

static bool is_concern(const char* word) {
    return strcmp(word, "w:0") == 0 || strcmp(word, "w:1") == 0 || strcmp(word, "j:1") == 0;
}

int main(int argc, char** argv) {
    settings_t settings = {.uri = "mongodb://127.0.0.1:27017",
                           .concern = "j:1",
                           .document_bytes = 200,
                           .seconds_max = 3600};
    const command_option_t options[] = {
        {"uri", OPTION_TEXT, &settings.uri, 0, 0},
        {"concern", OPTION_TEXT, &settings.concern, 0, 0},
        {"bytes", OPTION_INT, &settings.document_bytes, BYTES_MIN, BYTES_MAX},
        {"seconds-max", OPTION_REAL, &settings.seconds_max, 0.001, 86400},
        {0},
    };
    const char* count = take_options(argc, argv, options, usage);
    settings.count = (int64_t)take_number("COUNT", count, 1, COUNT_MAX, true);
    if (!is_concern(settings.concern)) {
        fprintf(stderr, "insert_latency: --concern is w:0, w:1 or j:1, not '%s'\n",
                settings.concern);
        return 2;
    }
    mongo_begin();
    mongoc_uri_t* uri = mongo_uri(settings.uri);
    if (!uri) return 2;
    mongoc_client_t* client = mongoc_client_new_from_uri(uri);
    const int status = measure(&settings, client);
    mongoc_client_destroy(client);
    mongoc_uri_destroy(uri);
    return status;
}
