#include "embedded_load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "histogram.h"

enum { TEXT_BYTES = 170, CLIENTS_MAX = 256 };

typedef struct {
    const engine_t* engine;
    void* db;
    uint64_t first_key, inserts;
    uint64_t begin_ns, end_ns; /* what is measured lies between */
    histogram_t latencies;
    pthread_t thread;
} client_t;

void fail(const char* what, const char* why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void* run_client(void* argument) {
    client_t* client = argument;
    char text[TEXT_BYTES];
    memset(text, 'x', sizeof text);
    void* own = client->engine->begin(client->db);
    uint64_t before = now_ns();
    for (uint64_t key = client->first_key; before < client->end_ns; key += CLIENTS_MAX) {
        client->engine->insert(own, key, text, sizeof text);
        ++client->inserts;
        const uint64_t after = now_ns();
        if (before >= client->begin_ns && after <= client->end_ns)
            histogram_add(&client->latencies, after - before);
        before = after;
    }
    client->engine->end(own);
    return NULL;
}

int embedded_main(int argc, char** argv, const engine_t* engine) {
    if (argc != 5) fail(argv[0], "wants FOLDER CLIENTS SECONDS WARMUP");
    const int clients = atoi(argv[2]);
    const double seconds = atof(argv[3]), warmup = atof(argv[4]);
    if (clients < 1 || clients > CLIENTS_MAX || seconds <= 0)
        fail(argv[0], "CLIENTS is 1 to 256, SECONDS above 0");
    void* db = engine->open(argv[1]);
    client_t* all = calloc((size_t)clients, sizeof *all);
    const uint64_t now = now_ns();
    const uint64_t begin = now + (uint64_t)(warmup * 1e9);
    /* Runs on one directory follow each other: keys begin with the time, in us, and no insert takes
     * less than one. */
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    const uint64_t stamp =
        ((uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_nsec / 1000) * CLIENTS_MAX;
    for (int i = 0; i < clients; ++i) {
        all[i] = (client_t){.engine = engine,
                            .db = db,
                            .first_key = stamp + (uint64_t)i,
                            .begin_ns = begin,
                            .end_ns = begin + (uint64_t)(seconds * 1e9)};
        if (pthread_create(&all[i].thread, NULL, run_client, &all[i]) != 0)
            fail(argv[0], "cannot start a thread");
    }
    static histogram_t sum;
    uint64_t inserts = 0;
    for (int i = 0; i < clients; ++i) {
        pthread_join(all[i].thread, NULL);
        histogram_merge(&sum, &all[i].latencies);
        inserts += all[i].inserts;
    }
    engine->close(db);
    printf("{\"per_second\": %.1f, \"inserts\": %llu, \"cpu_seconds\": %.6f, ",
           (double)sum.count / seconds, (unsigned long long)inserts, cpu_time().all);
    histogram_print_json(&sum, stdout);
    printf("}\n");
    free(all);
    return 0;
}
