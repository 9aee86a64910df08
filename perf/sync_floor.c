/* Question: how long does one durable write take on this disk, without any database?
 *
 * Not for: throughput of large writes; queue depths above 8.
 * Usage:   sync_floor [-s SECONDS] FOLDER        (2 s a test; FOLDER on the disk in question)
 *          sync_floor -k [-s SECONDS] FOLDER     only overwrite_4k, and leaves its file there for
 *                                                the next call, which then writes nothing before
 *          sync_floor -m [-s SECONDS] FOLDER     what a flush costs: the table flush_cost
 * Needs:   a file system with O_DIRECT; writes and deletes 2 files of at most 64 MB in FOLDER.
 *
 * Tests:   overwrite_4k   4 KB O_DIRECT|O_DSYNC overwrites of a written file, one after the other:
 *                         the least that any durable commit can cost here
 *          append_8k      8 KB O_DIRECT writes at the growing end, each with fdatasync: what the
 *                         journal of an old mongod does for a minimal commit
 *          flush_cost     4 KB O_DSYNC writes by 1, 2, 4 and 8 threads, each with its own part of
 *                         the file: overwrites and appends (each thread's own file), with and
 *                         without O_DIRECT
 *
 * Example output (a virtual disk; one durable write takes 0.14 ms, growing the file 0.3 ms more):
 *   {"overwrite_4k": {"writes": 13801, "per_second": 6900.3, "mean_us": 144.9, "p50_us": 142.3,
 *    ...}, "append_8k": {"writes": 4431, "per_second": 2215.2, "mean_us": 451.4, ...}} */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "histogram.h"

enum {
    FILE_BYTES_MAX = 64 * 1024 * 1024,
    UNIT_MAX = 1024 * 1024,
    FLUSH_BYTES = 4096, /* of a write of flush_cost */
    DEPTH_MAX = 8,
    THREAD_BYTES = FILE_BYTES_MAX / DEPTH_MAX /* of a thread's part, or of its file */
};

static void check(int ok, const char* what, const char* path) {
    if (ok) return;
    fprintf(stderr, "sync_floor: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

/* Opens FOLDER/name for direct writes, without O_DIRECT where the file system has none. */
static int open_direct(const char* path, int flags) {
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT | flags, 0600);
    if (fd < 0) fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | flags, 0600);
    check(fd >= 0, "cannot open", path);
    return fd;
}

static void report(const char* name, const histogram_t* latencies, uint64_t elapsed_ns) {
    printf("\"%s\": {\"writes\": %llu, \"per_second\": %.1f, ", name,
           (unsigned long long)latencies->count,
           (double)latencies->count * 1e9 / (double)elapsed_ns);
    histogram_print_json(latencies, stdout);
    printf("}");
}

/* Writes units at increasing offsets, from the start again at FILE_BYTES_MAX. */
static void measure(const char* name, const char* path, int fd, size_t unit, int sync_each,
                    double seconds, const void* data) {
    static histogram_t latencies;
    memset(&latencies, 0, sizeof latencies);
    uint64_t start = now_ns(), limit = start + (uint64_t)(seconds * 1e9), now = start;
    for (off_t offset = 0; now < limit; offset += (off_t)unit) {
        if (offset + (off_t)unit > FILE_BYTES_MAX) offset = 0;
        check(pwrite(fd, data, unit, offset) == (ssize_t)unit, "cannot write", path);
        if (sync_each) check(fdatasync(fd) == 0, "cannot sync", path);
        uint64_t after = now_ns();
        histogram_add(&latencies, after - now);
        now = after;
    }
    report(name, &latencies, now - start);
}

/* Writes the file that is overwritten, unless it is there in full; on the disk afterwards. */
static void write_file(const char* path, const void* data) {
    struct stat found;
    if (stat(path, &found) == 0 && found.st_size == FILE_BYTES_MAX) return;
    int fd = open_direct(path, 0);
    for (off_t offset = 0; offset < FILE_BYTES_MAX; offset += UNIT_MAX) {
        check(pwrite(fd, data, UNIT_MAX, offset) == UNIT_MAX, "cannot write", path);
    }
    check(fsync(fd) == 0, "cannot sync", path);
    close(fd);
}

static int open_written(const char* path, bool direct) {
    int fd = open(path, O_WRONLY | O_DSYNC | (direct ? O_DIRECT : 0));
    if (fd < 0 && direct) fd = open(path, O_WRONLY | O_DSYNC);
    check(fd >= 0, "cannot open", path);
    return fd;
}

/* One thread of flush_cost. */
typedef struct {
    const char* path;
    int fd;
    off_t from;
    const void* data;
    uint64_t limit;
    histogram_t latencies;
    pthread_t thread;
} flusher_t;

static void* flush(void* argument) {
    flusher_t* flusher = argument;
    off_t offset = 0;
    for (uint64_t now = now_ns(); now < flusher->limit; offset += FLUSH_BYTES) {
        if (offset == THREAD_BYTES) offset = 0;
        check(
            pwrite(flusher->fd, flusher->data, FLUSH_BYTES, flusher->from + offset) == FLUSH_BYTES,
            "cannot write", flusher->path);
        uint64_t after = now_ns();
        histogram_add(&flusher->latencies, after - now);
        now = after;
    }
    return NULL;
}

/* One cell of flush_cost, as a JSON object. `folder` gets the files that grow. */
static void measure_flushes(const char* written, const char* folder, bool append, bool direct,
                            int depth, double seconds, const void* data) {
    flusher_t* flushers = calloc((size_t)depth, sizeof(flusher_t));
    char paths[DEPTH_MAX][4096];
    for (int i = 0; i < depth; i++) {
        flushers[i].path = written;
        flushers[i].data = data;
        if (append) {
            snprintf(paths[i], sizeof paths[i], "%s/sync_floor.grown%d", folder, i);
            close(open_direct(paths[i], 0));
            flushers[i].path = paths[i];
        } else {
            flushers[i].from = (off_t)i * THREAD_BYTES;
        }
        flushers[i].fd = open_written(flushers[i].path, direct);
    }
    uint64_t start = now_ns();
    for (int i = 0; i < depth; i++) {
        flushers[i].limit = start + (uint64_t)(seconds * 1e9);
        pthread_create(&flushers[i].thread, NULL, flush, &flushers[i]);
    }
    static histogram_t total;
    memset(&total, 0, sizeof total);
    for (int i = 0; i < depth; i++) {
        pthread_join(flushers[i].thread, NULL);
        histogram_merge(&total, &flushers[i].latencies);
        close(flushers[i].fd);
        if (append) unlink(flushers[i].path);
    }
    printf("{\"append\": %s, \"direct\": %s, \"depth\": %d, \"per_second\": %.1f, ",
           append ? "true" : "false", direct ? "true" : "false", depth,
           (double)total.count * 1e9 / (double)(now_ns() - start));
    histogram_print_json(&total, stdout);
    printf("}");
    free(flushers);
}

static void flush_cost(const char* written, const char* folder, double seconds, const void* data) {
    printf("{\"flush_cost\": [");
    for (int kind = 0; kind < 4; kind++) {
        for (int depth = 1; depth <= DEPTH_MAX; depth *= 2) {
            if (kind > 0 || depth > 1) printf(",\n ");
            measure_flushes(written, folder, kind / 2, kind % 2 == 0, depth, seconds, data);
        }
    }
    printf("]}\n");
}

static int usage(void) {
    fprintf(stderr, "usage: sync_floor [-k | -m] [-s SECONDS] FOLDER\n");
    return 2;
}

int main(int argc, char** argv) {
    double seconds = 2;
    bool keep = false, matrix = false;
    int option;
    while ((option = getopt(argc, argv, "s:km")) != -1) {
        switch (option) {
            case 's':
                seconds = atof(optarg);
                break;
            case 'k':
                keep = true;
                break;
            case 'm':
                matrix = true;
                break;
            default:
                return usage();
        }
    }
    if (optind + 1 != argc || !(seconds > 0) || (keep && matrix)) return usage();
    const char* folder = argv[optind];
    char overwritten[4096], appended[4096];
    snprintf(overwritten, sizeof overwritten, "%s/sync_floor.overwritten", folder);
    snprintf(appended, sizeof appended, "%s/sync_floor.appended", folder);
    void* data;
    if (posix_memalign(&data, 8192, UNIT_MAX) != 0) return 1;
    memset(data, 'x', UNIT_MAX);
    write_file(overwritten, data);
    if (matrix) {
        flush_cost(overwritten, folder, seconds, data);
    } else {
        printf("{");
        int fd = open_written(overwritten, true);
        measure("overwrite_4k", overwritten, fd, 4096, 0, seconds, data);
        close(fd);
        if (!keep) {
            printf(", ");
            fd = open_direct(appended, 0);
            measure("append_8k", appended, fd, 8192, 1, seconds, data);
            close(fd);
            unlink(appended);
        }
        printf("}\n");
    }
    if (!keep) unlink(overwritten);
    free(data);
    return 0;
}
