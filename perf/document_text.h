/* The text of the documents that load_client writes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TEXT_BYTES_MAX = 1024 * 1024 };

/* Before the threads start: x is that letter again and again, random has six bits in a character,
 * all else is a file. False: there is no such file, or it has no words. */
bool fill_text(const char* kind);

/* TEXT_BYTES_MAX characters at least. Documents differ in where theirs begin, so that one does not
 * repeat another. */
const char* text_of(int64_t id);
