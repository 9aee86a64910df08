#include "sql_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { APPENDED_MAX = 1024 };

void sql_append(sql_text_t* sql, const char* form, ...) {
    if (sql->room - sql->bytes < APPENDED_MAX) {
        sql->room = 2 * sql->room + 4 * APPENDED_MAX;
        sql->text = realloc(sql->text, sql->room);
        if (!sql->text) abort();
    }
    va_list values;
    va_start(values, form);
    sql->bytes += (size_t)vsnprintf(sql->text + sql->bytes, APPENDED_MAX, form, values);
    va_end(values);
}
