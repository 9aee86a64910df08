/* Inserts into a set, one after the other, for perf/failover.py: URI CONCERN, where the concern is
 * 1 or majority. Each acknowledged insert is a line: when it began, and when its answer came, in
 * seconds of CLOCK_MONOTONIC. One that fails is tried again. */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

int main(int count, char** words) {
    if (count != 3) return 2;
    mongoc_init();
    mongoc_client_t* client = mongoc_client_new(words[1]);
    if (!client) return 2;
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    if (strcmp(words[2], "majority") == 0)
        mongoc_write_concern_set_wmajority(concern, 0);
    else
        mongoc_write_concern_set_w(concern, 1);
    mongoc_collection_t* c = mongoc_client_get_collection(client, "failover", "c");
    mongoc_collection_set_write_concern(c, concern);
    const struct timespec pause = {0, 2000000};
    for (;;) {
        bson_t document = BSON_INITIALIZER;
        const double begun = now();
        if (mongoc_collection_insert_one(c, &document, NULL, NULL, NULL)) {
            printf("%.6f %.6f\n", begun, now());
            fflush(stdout);
        }
        bson_destroy(&document);
        nanosleep(&pause, NULL);
    }
}
