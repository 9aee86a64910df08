/* What the SQL stores share: rows in bulk, and the two sums of a check, which every one of them
 * understands. A store defines these two for it. */
#pragma once

#include "store.h"

/* Runs one statement; rows, STORE_AGAIN or STORE_ERROR. */
int sql_run(connection_t* connection, const char* statement, size_t bytes);
/* The number that a query gives; 0 or more, or STORE_ERROR. */
int sql_number(connection_t* connection, const char* query, int64_t* value);
