// query/plan/text_plan.h - the plan of a query with $text: one scan of the text index for each
// term.
//
// A scan leads to the documents that have its term; whether they are what the search looks for, and
// what they count, is computed from the document itself, which gives the same terms as its keys do.
#pragma once

#include "query/plan/plan.h"

namespace query {

// Binds the clause to the index. Throws base::Error 2, by clients of today 27, where there is no
// index that the query can use: it has to give each plain field before the text one value; and 2 if
// $text stands in an $or beside a clause without an index.
// REQUIRES: the query has a $text.
Plan text_plan(const catalog::Collection& collection, const FindQuery& query);

}  // namespace query
