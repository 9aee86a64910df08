#define _GNU_SOURCE
#include "histogram.h"

#include <sys/resource.h>
#include <time.h>

/* Values below 2 * HISTOGRAM_STEPS have a bucket each; above, the top 7 bits choose it. */
static unsigned bucket_of(uint64_t ns) {
    if (ns < 2 * HISTOGRAM_STEPS) return (unsigned)ns;
    unsigned power = 63 - (unsigned)__builtin_clzll(ns) - 6;
    unsigned bucket = (power + 1) * HISTOGRAM_STEPS + (unsigned)((ns >> power) - HISTOGRAM_STEPS);
    unsigned last = HISTOGRAM_POWERS * HISTOGRAM_STEPS - 1;
    return bucket < last ? bucket : last;
}

static uint64_t middle_of(unsigned bucket) {
    if (bucket < 2 * HISTOGRAM_STEPS) return bucket;
    unsigned power = bucket / HISTOGRAM_STEPS - 1;
    uint64_t low = (uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) << power;
    return low + ((uint64_t)1 << power) / 2;
}

void histogram_add(histogram_t* histogram, uint64_t ns) {
    histogram->count++;
    histogram->sum += ns;
    if (ns > histogram->max) histogram->max = ns;
    histogram->buckets[bucket_of(ns)]++;
}

void histogram_merge(histogram_t* into, const histogram_t* from) {
    into->count += from->count;
    into->sum += from->sum;
    if (from->max > into->max) into->max = from->max;
    for (unsigned i = 0; i < HISTOGRAM_POWERS * HISTOGRAM_STEPS; i++) {
        into->buckets[i] += from->buckets[i];
    }
}

uint64_t histogram_percentile(const histogram_t* histogram, double percent) {
    if (histogram->count == 0) return 0;
    uint64_t rank = (uint64_t)(percent / 100.0 * (double)histogram->count);
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_POWERS * HISTOGRAM_STEPS; i++) {
        seen += histogram->buckets[i];
        if (seen > rank) return middle_of(i) < histogram->max ? middle_of(i) : histogram->max;
    }
    return histogram->max;
}

void histogram_print_json(const histogram_t* histogram, FILE* out) {
    double mean = histogram->count ? (double)histogram->sum / (double)histogram->count : 0;
    fprintf(out,
            "\"mean_us\": %.1f, \"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, "
            "\"p999_us\": %.1f, \"max_us\": %.1f",
            mean / 1e3, (double)histogram_percentile(histogram, 50) / 1e3,
            (double)histogram_percentile(histogram, 90) / 1e3,
            (double)histogram_percentile(histogram, 99) / 1e3,
            (double)histogram_percentile(histogram, 99.9) / 1e3, (double)histogram->max / 1e3);
}

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

cpu_time_t cpu_time(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const double user = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    const double kernel = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
    return (cpu_time_t){user + kernel, kernel};
}
