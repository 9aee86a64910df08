#define _GNU_SOURCE
#include "mongo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void mongo_begin(void) {
    static bool begun;
    if (begun) return;
    begun = true;
    mongoc_init();
    atexit(mongoc_cleanup); /* otherwise its counters stay in /dev/shm */
    mongoc_log_set_handler(NULL, NULL);
}

mongoc_uri_t* mongo_uri(const char* text) {
    bson_error_t error;
    mongoc_uri_t* uri = mongoc_uri_new_with_error(text, &error);
    if (!uri) {
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, text, error.message);
        return NULL;
    }
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, 5000);
    return uri;
}
