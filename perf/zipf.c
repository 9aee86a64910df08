#include "zipf.h"

#include <math.h>

static const double THETA = 0.99;

void zipf_init(zipf_t* zipf, uint64_t n) {
    zipf->n = n;
    zipf->zeta_n = 0;
    for (uint64_t rank = 1; rank <= n; rank++)
        zipf->zeta_n += 1 / pow((double)rank, THETA);
    double zeta_2 = 1 + 1 / pow(2, THETA);
    zipf->alpha = 1 / (1 - THETA);
    zipf->eta = (1 - pow(2 / (double)n, 1 - THETA)) / (1 - zeta_2 / zipf->zeta_n);
}

double zipf_uniform(uint64_t* state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / 9007199254740992.0; /* 2^53 */
}

static uint64_t rank_of(const zipf_t* zipf, double uniform) {
    double scaled = uniform * zipf->zeta_n;
    if (scaled < 1) return 0;
    if (scaled < 1 + 1 / pow(2, THETA)) return 1;
    return (uint64_t)((double)zipf->n * pow(zipf->eta * uniform - zipf->eta + 1, zipf->alpha));
}

uint64_t zipf_next_rank(const zipf_t* zipf, uint64_t* state) {
    return rank_of(zipf, zipf_uniform(state));
}

uint64_t zipf_next(const zipf_t* zipf, uint64_t* state) {
    return zipf_next_rank(zipf, state) * 0x9e3779b97f4a7c15u % zipf->n;
}
