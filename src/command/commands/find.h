// command/commands/find.h - parsing of a find command, shared with explain.
#pragma once

#include <cstdint>

#include "bson/view.h"
#include "dialect/dialect.h"
#include "query/expression/let_variables.h"
#include "query/plan/query.h"

namespace command {

// A find command, not yet canonicalised. Views point into the command.
struct FindRequest {
    query::FindQuery query;
    query::FindQuery::Parts parts;
    bson::Element let;
    bson::Element collation;
    bool computes = false;    // parts.projection is one that $project makes
    int64_t batch_size = -1;  // -1: default
    int64_t to_return = 0;    // ntoreturn, which may be a limit or a batch size
    bool single_batch = false;
    bool await_data = false;
    bool no_timeout = false;
};
// A client of today means a projection as later servers read it. The command's fields have been
// held against the table. Throws base::Error 9 (unknown field), 14, 2.
FindRequest parse_find(bson::Doc command, dialect::Dialect dialect);

// Parses the projection of one that computes, before the query is canonicalised; nothing of others.
// `let` may be null.
void compile_projection(FindRequest& request,
                        const std::shared_ptr<const query::LetVariables>& let);

}  // namespace command
