/* The command line of a load client: options as a table describes them, and one word beside them.
 * What is wrong with it ends the program with a sentence and 2; --help ends it with 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_TEXT,   /* to: const char* */
    OPTION_PORT,   /* to: const char*, the address of that port of this machine */
    OPTION_INT,    /* to: int, from `least` to `most` */
    OPTION_INT64,  /* to: int64_t, likewise */
    OPTION_REAL,   /* to: double, likewise */
    OPTION_SETS,   /* to: bool, which becomes true; it takes no value */
    OPTION_CLEARS, /* to: bool, which becomes false */
};

typedef struct {
    const char* name; /* behind the "--" */
    enum option_kind kind;
    void* to; /* keeps its value where the option is not given */
    double least, most;
} command_option_t;

/* Takes the options, of which the last one in the table has no name, and returns the word. */
const char* take_options(int argc, char** argv, const command_option_t* options,
                         void (*usage)(FILE* out));

/* The number that `word` is. `name` is what the sentence calls it. */
double take_number(const char* name, const char* word, double least, double most, bool whole);
