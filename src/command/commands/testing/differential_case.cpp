#include <fmt/core.h>

#include <set>

#include "command/commands/testing/differential.h"

namespace command::differential {

std::string Node::json() const {
    if (kind == Kind::text) return text;
    std::string out = kind == Kind::object ? "{" : "[";
    for (const auto& [name, value] : members) {
        if (out.size() > 1) out += ", ";
        if (kind == Kind::object) out += '"' + name + "\": ";
        out += value.json();
    }
    return out + (kind == Kind::object ? "}" : "]");
}

Node& Node::set(std::string name, Node value) {
    std::erase_if(members, [&](const auto& member) { return member.name == name; });
    members.push_back({std::move(name), std::move(value)});
    return *this;
}

Node& Node::push(Node value) {
    members.push_back({"", std::move(value)});
    return *this;
}

const Node* Node::find(const std::string& name) const {
    for (const auto& [other, value] : members)
        if (other == name) return &value;
    return nullptr;
}

Node text(std::string json) {
    Node node;
    node.text = std::move(json);
    return node;
}

Node object() {
    Node node;
    node.kind = Node::Kind::object;
    return node;
}

Node array() {
    Node node;
    node.kind = Node::Kind::array;
    return node;
}

std::string Case::show() const {
    std::string out = "documents:\n";
    for (const auto& [name, document] : documents.members)
        out += "  " + document.json() + "\n";
    out += "indexes:\n";
    for (const auto& [name, index] : indexes.members)
        out += "  " + index.json() + "\n";
    return out + "operation: " + operation.json() + "\n";
}

namespace {

// Tries the case with one thing less; keeps it if it still fails.
class Shrinker {
  public:
    Shrinker(Ways& ways, Case failing) : ways_(ways), best_(std::move(failing)) {}

    Case run() {
        drop_documents();
        for (bool smaller = true; smaller && tries_ < kTriesMax;) {
            smaller = shrink_node(&Case::documents, {}, 2);
            smaller = shrink_node(&Case::indexes, {}, 1) || smaller;
            smaller = shrink_node(&Case::operation, {}, 9) || smaller;
            smaller = shrink_node(&Case::documents, {}, 9) || smaller;
            smaller = shrink_node(&Case::indexes, {}, 9) || smaller;
        }
        return std::move(best_);
    }

  private:
    static constexpr int kTriesMax = 1000;
    using Part = Node Case::*;
    using Path = std::vector<size_t>;

    static Node* at(Case& one, Part part, const Path& path) {
        Node* node = &(one.*part);
        for (const size_t step : path) {
            if (step >= node->members.size()) return nullptr;
            node = &node->members[step].value;
        }
        return node;
    }

    bool fails(Case one) {
        if (++tries_ > kTriesMax) return false;
        for (const auto& [ignored, document] : one.documents.members)
            if (document.find("_id") == nullptr) return false;  // each way would make its own
        try {
            ways_.load(one);
            if (ways_.check(one).empty()) return false;
        } catch (const std::exception&) {
            return false;  // no longer a case
        }
        best_ = std::move(one);
        return true;
    }

    // Many at once, as long as that helps.
    void drop_documents() {
        for (size_t many = best_.documents.members.size() / 2; many > 1; many /= 2) {
            for (size_t from = 0; from + many <= best_.documents.members.size();) {
                Case one = best_;
                const auto begin =
                    one.documents.members.begin() + static_cast<std::ptrdiff_t>(from);
                one.documents.members.erase(begin, begin + static_cast<std::ptrdiff_t>(many));
                if (!fails(std::move(one))) from += many;
            }
        }
    }

    // Puts what a member holds into its place.
    bool lift(Part part, const Path& path, size_t member) {
        for (size_t i = 0;; ++i) {
            Case one = best_;
            Node& outer = at(one, part, path)->members[member].value;
            if (i >= outer.members.size()) return false;
            Node inner = outer.members[i].value;
            outer = std::move(inner);
            if (fails(std::move(one))) return true;
        }
    }

    bool shrink_node(Part part, const Path& path, int depth) {
        bool smaller = false;
        for (size_t i = 0;;) {
            Case one = best_;
            const Node* now = at(one, part, path);
            if (now == nullptr || i >= now->members.size()) return smaller;
            // Documents and their order would not be the same in all ways without these fields.
            static const std::set<std::string> kKept = {"_id", "sort", "multi"};
            if (kKept.contains(now->members[i].name)) {
                ++i;
                continue;
            }
            Node* node = at(one, part, path);
            node->members.erase(node->members.begin() + static_cast<std::ptrdiff_t>(i));
            if (fails(std::move(one)) || lift(part, path, i)) {
                smaller = true;
                continue;
            }
            Path below = path;
            below.push_back(i);
            if (depth > 1) smaller = shrink_node(part, below, depth - 1) || smaller;
            ++i;
        }
    }

    Ways& ways_;
    Case best_;
    int tries_ = 0;
};

}  // namespace

Case shrink(Ways& ways, Case failing) {
    return Shrinker(ways, std::move(failing)).run();
}

}  // namespace command::differential
