#include "query/plan/conjunction.h"

#include <algorithm>
#include <string_view>

#include "base/dcheck.h"
#include "sched/tick.h"

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

// Collects what a tree asks for.
class Flattening {
  public:
    explicit Flattening(Conjunction& out) : out_(out) {}

    void add(const MatchNode& node) {
        sched::tick();
        switch (node.kind) {
            case MatchKind::conjunction: {
                const PathScope path_scope(*this, node.path);
                for (const auto& child : node.children)
                    add(*child);
                return;
            }
            case MatchKind::all:
                for (const auto& child : node.children)
                    add(*child);
                if (node.children.empty()) out_.others = true;
                return;
            case MatchKind::disjunction:
                DCHECK(!node.children.empty());
                if (node.children.size() == 1) {
                    add(*node.children[0]);
                } else if (prefix_.empty()) {
                    out_.disjunctions.push_back(&node);
                } else {
                    out_.others = true;
                }
                return;
            case MatchKind::elem_match_object: {
                out_.others = true;
                if (node.path.empty()) return;  // no index is on a field without a name
                const PathScope path_scope(*this, node.path);
                bindings_.push_back({&node, parts_});
                for (const auto& child : node.children)
                    add(*child);
                bindings_.pop_back();
                return;
            }
            case MatchKind::expression:
                out_.others = true;
                for (const auto& child : node.children)
                    add(*child);
                return;
            case MatchKind::near:  // the planner sees to it
            case MatchKind::always_true:
                return;
            case MatchKind::nor:
            case MatchKind::schema:
            case MatchKind::text:
            case MatchKind::sample:
                out_.others = true;
                return;
            default:
                add_predicate(node);
        }
    }

    // Whether the walk is at the root, where it begins and, unless add() throws, ends.
    bool is_at_root() const { return prefix_.empty() && parts_ == 0 && bindings_.empty(); }

  private:
    // Puts the predicates that are added while it lives below a path.
    class PathScope {
      public:
        PathScope(Flattening& of, std::string_view path)
            : of_(of), bytes_(of.prefix_.size()), parts_(of.parts_) {
            if (path.empty()) return;
            if (bytes_ != 0) of.prefix_ += '.';
            of.prefix_ += path;
            of.parts_ += count_parts(path);
        }
        ~PathScope() {
            of_.prefix_.resize(bytes_);
            of_.parts_ = parts_;
        }
        PathScope(const PathScope&) = delete;
        PathScope& operator=(const PathScope&) = delete;

      private:
        Flattening& of_;
        const size_t bytes_, parts_;
    };

    void add_predicate(const MatchNode& node) {
        if (node.path.empty()) {
            out_.others = true;
            return;
        }
        const PathScope path_scope(*this, node.path);
        if (numbers_elements()) {
            out_.others = true;
            return;
        }
        out_.predicates.push_back({&node, sched::String(prefix_), bindings_});
    }

    // Whether the path goes on by number from an element that an $elemMatch is about, into an array
    // inside of the array. In the path of an index the number is one of the array itself.
    bool numbers_elements() const {
        if (bindings_.empty()) return false;
        const bson::FieldPath path(prefix_, SIZE_MAX);
        return std::ranges::any_of(bindings_, [&](const Binding& binding) {
            return path.index(binding.parts) != bson::FieldPath::kNoIndex;
        });
    }

    Conjunction& out_;
    // One for all, since it may be as long as a request.
    std::string prefix_;
    size_t parts_ = 0;  // of it
    sched::Vector<Binding> bindings_;
};

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

// Returns in how many parts of their paths two predicates are sure to mean the same elements.
size_t bound_parts(const Predicate& a, const Predicate& b) {
    size_t parts = 0;
    for (size_t i = 0; i < std::min(a.bindings.size(), b.bindings.size()); ++i) {
        if (a.bindings[i].node != b.bindings[i].node) break;
        DCHECK(a.bindings[i].parts == b.bindings[i].parts && a.bindings[i].parts > parts);
        parts = a.bindings[i].parts;
    }
    return parts;
}

}  // namespace

Conjunction flatten(const MatchNode& node) {
    Conjunction result;
    Flattening flattening(result);
    flattening.add(node);
    DCHECK(flattening.is_at_root());
    std::stable_sort(result.predicates.begin(), result.predicates.end(),
                     sched::ticking([](const Predicate& a, const Predicate& b) {
                         return rank(a.node->kind) < rank(b.node->kind);
                     }));
    return result;
}

bool bound_together(const Predicate& a, const Predicate& b) {
    return shared_parts(a.path, b.path) <= bound_parts(a, b);
}

}  // namespace query
