#include "document_text.h"

#include <stdio.h>
#include <string.h>

static char text[2 * TEXT_BYTES_MAX];

/* A pseudo-random number that is always the same one for `of`. */
static uint64_t scattered(uint64_t of) {
    of = (of ^ (of >> 31)) * 0x9e3779b97f4a7c15u;
    return (of ^ (of >> 29)) * 0xbf58476d1ce4e5b9u >> 20;
}

const char* text_of(int64_t id) {
    return text + scattered((uint64_t)id) % TEXT_BYTES_MAX;
}

static void fill_with_random_text(void) {
    for (size_t i = 0; i < sizeof text; ++i)
        text[i] = (char)('0' + scattered(i) % 64); /* six bits: '0' to 'o' */
}

/* Words of a file in any order: as frequent as there, without its sentences. */
static bool fill_with_words_of(const char* path) {
    static char source[TEXT_BYTES_MAX];
    FILE* file = fopen(path, "r");
    size_t length = file ? fread(source, 1, sizeof source, file) : 0;
    if (file) fclose(file);
    size_t spaces = 0;
    for (size_t i = 0; i < length; ++i) {
        if (source[i] <= ' ' || source[i] > '~') source[i] = ' ';
        spaces += source[i] == ' ';
    }
    if (spaces < 2) return false;
    uint64_t draws = 0;
    for (size_t filled = 0; filled < sizeof text;) {
        size_t at = scattered(draws++) % length;
        while (source[at] != ' ')
            at = (at + 1) % length;
        do {
            text[filled++] = source[at];
            at = (at + 1) % length;
        } while (source[at] != ' ' && filled < sizeof text);
    }
    return true;
}

bool fill_text(const char* kind) {
    if (strcmp(kind, "random") == 0) {
        fill_with_random_text();
        return true;
    }
    if (strcmp(kind, "x") != 0) return fill_with_words_of(kind);
    memset(text, 'x', sizeof text);
    return true;
}
