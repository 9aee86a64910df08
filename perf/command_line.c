#define _GNU_SOURCE
#include "command_line.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>

/* getopt's letters for options that have none: above all characters. */
enum { OPTIONS_MAX = 30, FIRST_LETTER = 256 };

double take_number(const char* name, const char* word, double least, double most, bool whole) {
    char* end;
    const double value = strtod(word, &end);
    if (end == word || *end != '\0' || !(value >= least && value <= most) ||
        (whole && value != floor(value))) {
        fprintf(stderr, "%s: %s wants %s from %.15g to %.15g, not '%s'\n",
                program_invocation_short_name, name, whole ? "a whole number" : "a number", least,
                most, word);
        exit(2);
    }
    return value;
}

static double number(const command_option_t* option, const char* word, bool whole) {
    char name[40];
    snprintf(name, sizeof name, "--%s", option->name);
    return take_number(name, word, option->least, option->most, whole);
}

static void take(const command_option_t* option, const char* word) {
    switch (option->kind) {
        case OPTION_TEXT:
            *(const char**)option->to = word;
            break;
        case OPTION_PORT: {
            static char address[40];
            snprintf(address, sizeof address, "mongodb://127.0.0.1:%d",
                     (int)number(option, word, true));
            *(const char**)option->to = address;
            break;
        }
        case OPTION_INT:
            *(int*)option->to = (int)number(option, word, true);
            break;
        case OPTION_INT64:
            *(int64_t*)option->to = (int64_t)number(option, word, true);
            break;
        case OPTION_REAL:
            *(double*)option->to = number(option, word, false);
            break;
        case OPTION_SETS:
        case OPTION_CLEARS:
            *(bool*)option->to = option->kind == OPTION_SETS;
            break;
    }
}

const char* take_options(int argc, char** argv, const command_option_t* options,
                         void (*usage)(FILE* out)) {
    struct option known[OPTIONS_MAX + 2] = {{"help", no_argument, NULL, 'h'}};
    for (int i = 0; options[i].name; i++) {
        if (i == OPTIONS_MAX) abort();
        const bool takes_value = options[i].kind < OPTION_SETS;
        known[i + 1] = (struct option){
            options[i].name, takes_value ? required_argument : no_argument, NULL, FIRST_LETTER + i};
    }
    int letter;
    while ((letter = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        if (letter >= FIRST_LETTER) {
            take(&options[letter - FIRST_LETTER], optarg);
            continue;
        }
        usage(letter == 'h' ? stdout : stderr);
        exit(letter == 'h' ? 0 : 2);
    }
    if (optind + 1 != argc) {
        usage(stderr);
        exit(2);
    }
    return argv[optind];
}
