/* What the programs on libmongoc begin with. */
#pragma once

#include <mongoc/mongoc.h>

/* Before there are threads; its end comes with the program's. Nothing is logged: errors are
 * reported by what they do to a request. */
void mongo_begin(void);

/* A server is waited for 5 s. NULL where the text is no such URI: the sentence is on stderr then.
 */
mongoc_uri_t* mongo_uri(const char* text);
