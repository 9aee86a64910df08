#include "query/plan/conjunction.h"

#include <algorithm>
#include <string_view>

#include "base/operation.h"

namespace query {

namespace {

// Equality first, then upper before lower ends.
int rank(MatchKind kind) {
    switch (kind) {
        case MatchKind::all:
        case MatchKind::elem_match_value:
            return 0;
        case MatchKind::eq:
            return 1;
        case MatchKind::lte:
            return 2;
        case MatchKind::lt:
            return 3;
        case MatchKind::gt:
            return 4;
        case MatchKind::gte:
            return 5;
        case MatchKind::regex:
            return 6;
        case MatchKind::mod:
            return 7;
        case MatchKind::exists:
            return 8;
        case MatchKind::in:
            return 9;
        default:
            return 10;
    }
}

size_t count_parts(std::string_view path) {
    return static_cast<size_t>(std::ranges::count(path, '.')) + 1;
}

// Adds what `node` asks for below `prefix`. `bindings`: around it.
void flatten(const MatchNode& node, const std::string& prefix, const std::vector<Binding>& bindings,
             Conjunction& out) {
    const auto full = [&](const std::string& path) {
        if (prefix.empty()) return path;
        return path.empty() ? prefix : prefix + "." + path;
    };
    base::Operation::tick();
    switch (node.kind) {
        case MatchKind::conjunction:
            for (const auto& child : node.children)
                flatten(*child, node.path.empty() ? prefix : full(node.path), bindings, out);
            return;
        case MatchKind::all:
            for (const auto& child : node.children)
                flatten(*child, prefix, bindings, out);
            if (node.children.empty()) out.others = true;
            return;
        case MatchKind::disjunction:
            if (node.children.size() == 1) {
                flatten(*node.children[0], prefix, bindings, out);
            } else if (prefix.empty()) {
                out.disjunctions.push_back(&node);
            } else {
                out.others = true;
            }
            return;
        case MatchKind::elem_match_object: {
            const std::string path = full(node.path);
            std::vector<Binding> inner = bindings;
            inner.push_back({&node, count_parts(path)});
            for (const auto& child : node.children)
                flatten(*child, path, inner, out);
            out.others = true;
            return;
        }
        case MatchKind::always_true:
            return;
        case MatchKind::nor:
            out.others = true;
            return;
        case MatchKind::always_false:
            if (node.path.empty()) {
                out.others = true;
            } else {
                out.predicates.push_back({&node, full(node.path), bindings});  // $in: []
            }
            return;
        default:
            out.predicates.push_back({&node, full(node.path), bindings});
    }
}

// How many parts two paths begin with in common.
size_t shared_parts(std::string_view a, std::string_view b) {
    size_t parts = 0;
    for (;;) {
        const size_t end = a.find('.');
        if (a.substr(0, end) != b.substr(0, b.find('.'))) return parts;
        ++parts;
        if (end == std::string_view::npos || b.find('.') == std::string_view::npos) return parts;
        a.remove_prefix(end + 1);
        b.remove_prefix(end + 1);
    }
}

// Of how many parts of their paths two predicates are sure to mean the same elements.
size_t bound_parts(const Predicate& a, const Predicate& b) {
    size_t parts = 0;
    for (size_t i = 0; i < std::min(a.bindings.size(), b.bindings.size()); ++i) {
        if (a.bindings[i].node != b.bindings[i].node) break;
        parts = a.bindings[i].parts;
    }
    return parts;
}

}  // namespace

Conjunction flatten(const MatchNode& node) {
    Conjunction result;
    flatten(node, {}, {}, result);
    std::stable_sort(result.predicates.begin(), result.predicates.end(),
                     [](const Predicate& a, const Predicate& b) {
                         base::Operation::tick();
                         return rank(a.node->kind) < rank(b.node->kind);
                     });
    return result;
}

bool bound_together(const Predicate& a, const Predicate& b) {
    return shared_parts(a.path, b.path) <= bound_parts(a, b);
}

}  // namespace query
