/* The text of an SQL statement that grows: the rows of a load. */
#pragma once

#include <stddef.h>

/* Begins as {0}; whoever has it frees `text`. */
typedef struct {
    char* text;
    size_t bytes, room;
} sql_text_t;

/* At most 1023 bytes at once. */
__attribute__((format(printf, 2, 3))) void sql_append(sql_text_t* sql, const char* form, ...);
