/* Question: what does one durable append cost the device, when the file system must also note the
 * file's time or length, and when not?
 *
 * Not for: rates; between two appends it waits for the clock that file times are taken from.
 * Usage:   append_cost [-n APPENDS] FOLDER       (100 a mode; FOLDER on the disk in question)
 * Needs:   a file system with O_DIRECT on a device with counters in /sys/dev/block; writes and
 *          deletes one file of APPENDS times 8 KB. What others write to the same device is
 *          counted too: use a device of its own (a loop device will do), or take the least of
 *          several runs.
 *
 * Modes:   overwrite_datasync   8 KB into written blocks, then fdatasync: no note is due
 *          overwrite_sync       the same, opened with O_SYNC: the time of each write is due
 *          grow_datasync        8 KB at the end, then fdatasync: the length is due
 *          grow_sync            the same, opened with O_SYNC: length and time are due
 *
 * Example output (a virtual disk; noting the time costs two more writes an append):
 *   {"overwrite_datasync": {"appends": 100, "device_writes": 100, "kilobytes": 800, "flushes": 100,
 *    "p50_us": 130.1}, "overwrite_sync": {"appends": 100, "device_writes": 300, ...}, ...} */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "histogram.h"

enum { UNIT = 8192, APPENDS_MAX = 100000 };

typedef struct {
    uint64_t writes, sectors, flushes;
} counters_t;

static void check(int ok, const char* what, const char* path) {
    if (ok) return;
    fprintf(stderr, "append_cost: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

/* What the device has done so far: fields 5, 7 and 16 of its stat file. */
static counters_t count(const char* folder) {
    struct stat info;
    char path[64];
    counters_t now = {0, 0, 0};
    check(stat(folder, &info) == 0, "cannot look at", folder);
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(info.st_dev),
             minor(info.st_dev));
    FILE* file = fopen(path, "r");
    check(file != NULL, "no counters of the device; choose a folder on a disk of its own:", path);
    const int fields = fscanf(file,
                              "%*u %*u %*u %*u %" SCNu64 " %*u %" SCNu64
                              " %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
                              &now.writes, &now.sectors, &now.flushes);
    fclose(file);
    check(fields == 3, "cannot read", path);
    return now;
}

/* Until the clock that file times are taken from has moved on. */
static void await_tick(void) {
    struct timespec before, now;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    do {
        usleep(200);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_nsec == before.tv_nsec && now.tv_sec == before.tv_sec);
}

static void measure(const char* name, const char* folder, const char* path, int flags, int grow,
                    int appends, const void* data) {
    static histogram_t latencies;
    memset(&latencies, 0, sizeof latencies);
    unlink(path);
    int fd = open(path, O_CREAT | O_WRONLY | O_DIRECT, 0600);
    check(fd >= 0, "cannot open for direct writes", path);
    for (int i = 0; !grow && i < appends; ++i)
        check(write(fd, data, UNIT) == UNIT, "cannot write", path);
    check(fsync(fd) == 0, "cannot sync", path);
    close(fd);
    sync(); /* nothing of the preparation is left to write */
    fd = open(path, O_WRONLY | O_DIRECT | flags);
    check(fd >= 0, "cannot open", path);
    const counters_t before = count(folder);
    for (int i = 0; i < appends; ++i) {
        await_tick();
        const uint64_t start = now_ns();
        check(write(fd, data, UNIT) == UNIT, "cannot write", path);
        if (flags == 0) check(fdatasync(fd) == 0, "cannot sync", path);
        histogram_add(&latencies, now_ns() - start);
    }
    const counters_t after = count(folder);
    close(fd);
    unlink(path);
    printf("\"%s\": {\"appends\": %d, \"device_writes\": %" PRIu64 ", \"kilobytes\": %" PRIu64
           ", \"flushes\": %" PRIu64 ", ",
           name, appends, after.writes - before.writes, (after.sectors - before.sectors) / 2,
           after.flushes - before.flushes);
    histogram_print_json(&latencies, stdout);
    printf("}");
}

int main(int argc, char** argv) {
    int appends = 100, option;
    while ((option = getopt(argc, argv, "n:")) == 'n')
        appends = atoi(optarg);
    if (option != -1 || optind + 1 != argc || appends < 1 || appends > APPENDS_MAX) {
        fprintf(stderr, "usage: append_cost [-n APPENDS] FOLDER\n");
        return 2;
    }
    const char* folder = argv[optind];
    char path[4096];
    snprintf(path, sizeof path, "%s/append_cost.file", folder);
    void* data;
    if (posix_memalign(&data, UNIT, UNIT) != 0) return 1;
    memset(data, 'x', UNIT);
    printf("{");
    measure("overwrite_datasync", folder, path, 0, 0, appends, data);
    printf(", ");
    measure("overwrite_sync", folder, path, O_SYNC, 0, appends, data);
    printf(", ");
    measure("grow_datasync", folder, path, 0, 1, appends, data);
    printf(", ");
    measure("grow_sync", folder, path, O_SYNC, 1, appends, data);
    printf("}\n");
    free(data);
    return 0;
}
