#include "query/match/clause_order.h"

#include <algorithm>

#include "sched/tick.h"

namespace query {

namespace {

// Place of a clause among its neighbours (observed).
int rank(const MatchNode& node) {
    switch (node.kind) {
        case MatchKind::conjunction:
            return 0;
        case MatchKind::disjunction:
            return 1;
        case MatchKind::nor:
            return 2;
        case MatchKind::negation:
            return 3;
        case MatchKind::all:
            // $all of values is a row of equalities.
            if (!node.children.empty() && node.children[0]->kind == MatchKind::eq) return 10;
            return 4;
        case MatchKind::elem_match_object:
            return 5;
        case MatchKind::elem_match_value:
            return 6;
        case MatchKind::size:
            return 7;
        case MatchKind::lte:
            return 8;
        case MatchKind::lt:
            return 9;
        case MatchKind::eq:
            return 10;
        case MatchKind::gt:
            return 11;
        case MatchKind::gte:
            return 12;
        case MatchKind::regex:
            return 13;
        case MatchKind::mod:
            return 14;
        case MatchKind::exists:
            return 15;
        case MatchKind::in:
            return 16;
        case MatchKind::type:
            return 17;
        case MatchKind::geo:
        case MatchKind::near:
        case MatchKind::bits:
        case MatchKind::schema:
        case MatchKind::sample:
        case MatchKind::always_true:
        case MatchKind::always_false:
            return 18;
        case MatchKind::expression:
        case MatchKind::text:
        case MatchKind::ends:
            return 19;
    }
    return 18;
}

}  // namespace

void put_clauses_in_order(MatchNode& node) {
    for (const auto& child : node.children)
        put_clauses_in_order(*child);
    if (node.kind != MatchKind::conjunction) return;
    const auto before = sched::ticking([](const auto& a, const auto& b) {
        const int ra = rank(*a);
        const int rb = rank(*b);
        return ra != rb ? ra < rb : a->path < b->path;
    });
    // Most clauses come in order, and to sort takes memory.
    if (!std::ranges::is_sorted(node.children, before))
        std::ranges::stable_sort(node.children, before);
}

}  // namespace query
