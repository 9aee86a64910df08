/* Latencies in a histogram of constant size: 64 linear steps for each power of two, so that a
 * percentile is off by less than 1.6 %. Unit: nanoseconds. */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_POWERS = 40 };

typedef struct {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint64_t buckets[HISTOGRAM_POWERS * HISTOGRAM_STEPS];
} histogram_t;

void histogram_add(histogram_t* histogram, uint64_t ns);

/* Adds all of `from` to `into`. */
void histogram_merge(histogram_t* into, const histogram_t* from);

/* The value that `percent` of the samples do not exceed; 0 when there is no sample. */
uint64_t histogram_percentile(const histogram_t* histogram, double percent);

/* Writes "mean_us", "p50_us", "p90_us", "p99_us", "p999_us" and "max_us" as JSON members, without
 * braces. */
void histogram_print_json(const histogram_t* histogram, FILE* out);

/* Monotonic clock, nanoseconds. */
uint64_t now_ns(void);

/* Processor time of this process so far, in seconds; how much of it in the kernel. */
typedef struct {
    double all, kernel;
} cpu_time_t;
cpu_time_t cpu_time(void);
