// command/commands/find.h - parsing of a find command, shared with explain.
#pragma once

#include <memory>

#include "command/request/find_request.h"
#include "command/request/invocation.h"
#include "query/expression/let_variables.h"

namespace command {

// Reads a find command, of which take_fields() has taken the fields. A client of today means a
// projection as later servers read it. Throws base::Error 9 (unknown field), 14, 2.
FindRequest parse_find(const Invocation& find);

// Parses the projection of one that computes, before the query is canonicalised; nothing of others.
// `let` may be null.
void compile_projection(FindRequest& request,
                        const std::shared_ptr<const query::LetVariables>& let);

}  // namespace command
