/* Numbers below n of which a few are drawn far more often than the others: rank k with a
 * probability proportional to 1 / k^0.99, spread over the range so that the popular ones are not
 * neighbours. The method of Gray and others, "Quickly generating billion-record synthetic
 * databases" (1994), which YCSB uses too. */
#pragma once

#include <stdint.h>

typedef struct {
    uint64_t n;
    double zeta_n;
    double alpha;
    double eta;
} zipf_t;

/* Takes time proportional to n. */
void zipf_init(zipf_t* zipf, uint64_t n);

/* The next number in 0..n-1; `state` is the caller's, any value but 0. */
uint64_t zipf_next(const zipf_t* zipf, uint64_t* state);

/* The next rank in 0..n-1: 0 is the most popular, 1 the next. */
uint64_t zipf_next_rank(const zipf_t* zipf, uint64_t* state);

/* The next number in [0, 1), every one as likely. */
double zipf_uniform(uint64_t* state);
