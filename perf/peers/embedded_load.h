/* Durable inserts into an engine that is a library: threads as clients, each insert timed. An
 * engine's file gives the five functions and calls embedded_main. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    /* Opens or creates the database in `folder`. */
    void* (*open)(const char* folder);
    /* What one thread inserts by. */
    void* (*begin)(void* db);
    /* One row; it is durable when this returns. `key` is unique. */
    void (*insert)(void* client, uint64_t key, const char* text, size_t bytes);
    void (*end)(void* client);
    void (*close)(void* db);
} engine_t;

/* PROGRAM FOLDER CLIENTS SECONDS WARMUP. Prints one JSON object: per_second and the latencies
 * behind the warm-up; inserts and cpu_seconds of all. */
int embedded_main(int argc, char** argv, const engine_t* engine);

/* Says what failed and ends the program with 1. */
void fail(const char* what, const char* why);
