// query/match/regex_flags.h - which flags a regular expression may have, for a client of today.
#pragma once

#include "query/match/match_tree.h"

namespace query {

// Throws base::Error 51108 where a regular expression of a filter has a flag that today's servers
// refuse: other letters than i m s x u. The old one took them for nothing.
void refuse_odd_flags(const Matcher& matcher);

}  // namespace query
