// query/match/no_near.h - refusing $near where a filter looks for no documents: an index answers
// it, and to a match it says nothing.
#pragma once

#include "base/error.h"
#include "query/match/match_tree.h"

namespace query {

// Throws base::Error 2.
inline void refuse_near(const Matcher& matcher) {
    if (matcher.near() != nullptr)
        base::fail(base::kBadValue, "$near is not allowed here: {} has to be a query",
                   matcher.near()->path);
}

}  // namespace query
