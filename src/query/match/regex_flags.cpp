#include "query/match/regex_flags.h"

#include "base/error.h"
#include "query/match/regex.h"
#include "sched/tick.h"

namespace query {

namespace {

void refuse_odd_flags_below(const MatchNode& node) {
    sched::tick();
    for (const auto& regex : node.regexes) {
        const size_t odd = regex->flags().find_first_not_of("imsxu");
        if (odd != std::string::npos)
            base::fail(51108, "invalid flag in regex options: {}", regex->flags()[odd]);
    }
    for (const auto& child : node.children)
        refuse_odd_flags_below(*child);
}

}  // namespace

void refuse_odd_flags(const Matcher& matcher) {
    refuse_odd_flags_below(matcher.root());
}

}  // namespace query
