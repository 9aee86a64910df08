/* Question: how many transfers between accounts a second does a database take, each of them
 * durable?
 *
 * A closed loop: each client thread draws two accounts, every one as likely, and moves one unit in
 * one transaction; one that another client is in the way of is repeated at once, and its time goes
 * on. At the end all accounts together must have what they began with.
 * Usage:    see usage() below
 * Output:   one line of JSON. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../command_line.h"
#include "../histogram.h"
#include "../zipf.h"
#include "bank.h"

enum { CLIENTS_MAX = 256 };

typedef struct {
    const char* address;
    int64_t accounts;
    int clients;
    double seconds, warmup_seconds;
} settings_t;

typedef struct {
    const settings_t* settings;
    bank_t* bank;
    uint64_t random, repeated;
    int failed;
    histogram_t latencies;
    pthread_t thread;
} worker_t;

static atomic_bool measuring, stopping;

static void usage(FILE* out) {
    fprintf(out,
            "usage: transfers_%s [options] run\n"
            "\n"
            "  --address ADDRESS    %s\n"
            "  --accounts N         (100000; 2 to 1e8)\n"
            "  --clients N          threads, one connection each (1; at most %d)\n"
            "  --seconds S          measured time (5)\n"
            "  --warmup S           time before it that is not counted (1)\n",
            BANK_NAME, BANK_ADDRESS, CLIENTS_MAX);
}

static int complain(bank_t* bank) {
    fprintf(stderr, "transfers_%s: %s\n", BANK_NAME, bank_error(bank));
    return 1;
}

static void* transfer(void* argument) {
    worker_t* worker = argument;
    const int64_t accounts = worker->settings->accounts;
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        const bool counted = atomic_load_explicit(&measuring, memory_order_relaxed);
        const int64_t from = (int64_t)(zipf_uniform(&worker->random) * (double)accounts);
        const int64_t other = (int64_t)(zipf_uniform(&worker->random) * (double)(accounts - 1));
        const int64_t to = other < from ? other : other + 1;
        const uint64_t begun = now_ns();
        int done = BANK_AGAIN;
        while (done == BANK_AGAIN) {
            done = bank_transfer(worker->bank, from, to, 1);
            worker->repeated += counted && done == BANK_AGAIN;
        }
        if (done == BANK_ERROR) {
            worker->failed = complain(worker->bank);
            break;
        }
        if (counted) histogram_add(&worker->latencies, now_ns() - begun);
    }
    return NULL;
}

static void wait_for(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time) != 0) {
    }
}

/* Returns whether all have begun. */
static bool begin(const settings_t* settings, worker_t* workers) {
    for (int i = 0; i < settings->clients; i++) {
        workers[i].settings = settings;
        workers[i].random = 0x9E3779B97F4A7C15u * (uint64_t)(i + 1);
        workers[i].bank = bank_open();
        if (!workers[i].bank) return false;
    }
    for (int i = 0; i < settings->clients; i++)
        pthread_create(&workers[i].thread, NULL, transfer, &workers[i]);
    return true;
}

static int run(const settings_t* settings, worker_t* workers) {
    bank_t* first = bank_open();
    if (!first) return 1;
    if (bank_make(first, settings->accounts) != 0) return complain(first);
    if (!begin(settings, workers)) return 1;
    wait_for(settings->warmup_seconds);
    atomic_store(&measuring, true);
    const uint64_t start = now_ns();
    const double cpu = cpu_time().all;
    wait_for(settings->seconds);
    atomic_store(&stopping, true);
    static histogram_t latencies;
    uint64_t repeated = 0;
    int failed = 0;
    for (int i = 0; i < settings->clients; i++) {
        pthread_join(workers[i].thread, NULL);
        histogram_merge(&latencies, &workers[i].latencies);
        repeated += workers[i].repeated;
        failed |= workers[i].failed;
        bank_close(workers[i].bank);
    }
    const double seconds = (double)(now_ns() - start) / 1e9;
    int64_t sum = 0;
    if (bank_sum(first, &sum) != 0) return complain(first);
    bank_close(first);
    if (sum != settings->accounts * BANK_BALANCE) {
        fprintf(stderr, "transfers_%s: the accounts have %lld in all, and had %lld\n", BANK_NAME,
                (long long)sum, (long long)settings->accounts * BANK_BALANCE);
        return 1;
    }
    printf(
        "{\"clients\": %d, \"transfers\": %llu, \"per_second\": %.1f, \"repeated\": %llu, "
        "\"client_cpu_us\": %.2f, ",
        settings->clients, (unsigned long long)latencies.count, (double)latencies.count / seconds,
        (unsigned long long)repeated,
        (cpu_time().all - cpu) * 1e6 / (double)(latencies.count + !latencies.count));
    histogram_print_json(&latencies, stdout);
    printf("}\n");
    return failed;
}

int main(int argc, char** argv) {
    settings_t settings = {.accounts = 100000, .clients = 1, .seconds = 5, .warmup_seconds = 1};
    const command_option_t options[] = {
        {"address", OPTION_TEXT, &settings.address, 0, 0},
        {"accounts", OPTION_INT64, &settings.accounts, 2, 1e8},
        {"clients", OPTION_INT, &settings.clients, 1, CLIENTS_MAX},
        {"seconds", OPTION_REAL, &settings.seconds, 0.01, 86400},
        {"warmup", OPTION_REAL, &settings.warmup_seconds, 0, 86400},
        {0},
    };
    const char* word = take_options(argc, argv, options, usage);
    if (!word || strcmp(word, "run") != 0) {
        usage(stderr);
        return 2;
    }
    bank_begin(settings.address, CLIENTS_MAX + 1);
    worker_t* workers = calloc((size_t)settings.clients, sizeof *workers);
    const int status = run(&settings, workers);
    free(workers);
    return status;
}
