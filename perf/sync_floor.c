/* Question: how long does one durable write take on this disk, without any database?
 *
 * Not for: throughput of large writes, or any queue depth above 1.
 * Usage:   sync_floor [-s SECONDS] FOLDER        (2 s a test; FOLDER on the disk in question)
 * Needs:   a file system with O_DIRECT; writes and deletes 2 files of at most 64 MB in FOLDER.
 *
 * Tests:   overwrite_4k   4 KB O_DIRECT|O_DSYNC overwrites of a written file, one after the other:
 *                         the least that any durable commit can cost here
 *          append_8k      8 KB O_DIRECT writes at the growing end, each with fdatasync: what the
 *                         journal of an old mongod does for a minimal commit
 *
 * Example output (a virtual disk; one durable write takes 0.14 ms, growing the file 0.3 ms more):
 *   {"overwrite_4k": {"writes": 13801, "per_second": 6900.3, "mean_us": 144.9, "p50_us": 142.3,
 *    ...}, "append_8k": {"writes": 4431, "per_second": 2215.2, "mean_us": 451.4, ...}} */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "histogram.h"

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, UNIT_MAX = 1024 * 1024 };

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

int main(int argc, char** argv) {
    double seconds = 2;
    int option;
    while ((option = getopt(argc, argv, "s:")) == 's')
        seconds = atof(optarg);
    if (option != -1 || optind + 1 != argc || seconds <= 0) {
        fprintf(stderr, "usage: sync_floor [-s SECONDS] FOLDER\n");
        return 2;
    }
    char overwritten[4096], appended[4096];
    snprintf(overwritten, sizeof overwritten, "%s/sync_floor.overwritten", argv[optind]);
    snprintf(appended, sizeof appended, "%s/sync_floor.appended", argv[optind]);
    void* data;
    if (posix_memalign(&data, 8192, UNIT_MAX) != 0) return 1;
    memset(data, 'x', UNIT_MAX);

    int fd = open_direct(overwritten, 0);
    for (off_t offset = 0; offset < FILE_BYTES_MAX; offset += UNIT_MAX) {
        check(pwrite(fd, data, UNIT_MAX, offset) == UNIT_MAX, "cannot write", overwritten);
    }
    check(fsync(fd) == 0, "cannot sync", overwritten);
    close(fd);
    fd = open(overwritten, O_WRONLY | O_DIRECT | O_DSYNC);
    if (fd < 0) fd = open(overwritten, O_WRONLY | O_DSYNC);
    check(fd >= 0, "cannot open", overwritten);
    printf("{");
    measure("overwrite_4k", overwritten, fd, 4096, 0, seconds, data);
    close(fd);
    unlink(overwritten);

    printf(", ");
    fd = open_direct(appended, 0);
    measure("append_8k", appended, fd, 8192, 1, seconds, data);
    close(fd);
    unlink(appended);
    printf("}\n");
    free(data);
    return 0;
}
