#include "query/update/update_tree.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "sched/tick.h"

namespace query {

using bson::Element;

namespace {

// The last position that may be made, however many elements there are already.
constexpr int64_t kLastPosition = 1500000;

std::string join(const std::vector<std::string>& path) {
    std::string text;
    for (const std::string& part : path) {
        if (!text.empty()) text += '.';
        text += part;
    }
    return text;
}

Element array_element(bson::Doc array, int64_t index) {
    for (const Element& e : array) {
        if (index-- == 0) return e;
    }
    return {};
}

}  // namespace

int64_t array_index(std::string_view text) {
    int64_t index = -1;
    if (text.empty() || text[0] == '-') return -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    return error == std::errc() && end == text.data() + text.size() ? index : -1;
}

FieldLocation locate_field(const std::vector<std::string>& path, bson::Doc doc) {
    FieldLocation place;
    bool is_array = false;
    for (const std::string& part : path) {
        sched::tick_bytes(doc.size(), sched::PerTick::converted);
        Element e;
        if (is_array) {
            const int64_t index = array_index(part);
            if (index < 0) {
                place.blocked = true;
                return place;
            }
            e = array_element(doc, index);
        } else {
            e = doc[part];
        }
        if (!e) return place;
        if (is_array) place.through_array = true;
        place.element = e;
        ++place.depth;
        if (place.depth == path.size()) return place;
        if (!e.is_object() && !e.is_array()) {
            place.blocked = true;
            return place;
        }
        is_array = e.is_array();
        doc = e.as_doc();
    }
    return place;
}

void fail_blocked(const std::vector<std::string>& path, const FieldLocation& place) {
    base::fail(base::kPathNotViable,
               "Cannot use the part ({}) of ({}) to traverse the element "
               "({{{}: {}}})",
               path[place.depth], join(path), place.element.name(), bson::to_text(place.element));
}

void fail_conflict(const std::vector<std::string>& path) {
    base::fail(base::kConflictingUpdateOperators,
               "Cannot update '{}' and another path at or around it at the same time", join(path));
}

ModTree::ModTree(std::span<Mod> mods, bool for_insert) : mods_(mods) {
    nodes_.reserve(1 + mods.size());
    nodes_.emplace_back();
    for (size_t i = 0; i < mods.size(); ++i) {
        if (mods[i].on_insert_only && !for_insert) continue;
        insert(static_cast<int>(i));
    }
}

void ModTree::insert(int mod) {
    const Mod& m = mods_[static_cast<size_t>(mod)];
    sched::tick(static_cast<int64_t>(m.path.size()));
    int at = 0;
    for (size_t i = 0; i < m.path.size(); ++i) {
        const std::string_view part = m.path[i];
        int next = child_named(nodes_[static_cast<size_t>(at)], part);
        const bool last = i + 1 == m.path.size();
        if (next >= 0 && (last || nodes_[static_cast<size_t>(next)].mod >= 0))
            fail_conflict(m.path);
        if (next < 0) {
            next = static_cast<int>(nodes_.size());
            Node node;
            node.name = part;
            node.index = array_index(part);
            nodes_.push_back(std::move(node));
            Node& parent = nodes_[static_cast<size_t>(at)];
            parent.index_of_names.added(parent.children.size(), part);
            parent.children.push_back(next);
        }
        at = next;
    }
    nodes_[static_cast<size_t>(at)].mod = mod;
}

bool ModTree::tolerates_bad_path(int node) const {
    const Node& n = nodes_[static_cast<size_t>(node)];
    if (n.mod >= 0) {
        return mods_[static_cast<size_t>(n.mod)].modifier->tolerates_bad_path();
    }
    return std::all_of(n.children.begin(), n.children.end(),
                       [this](int child) { return tolerates_bad_path(child); });
}

// "0" and "00" are different field names but the same place in an array.
void ModTree::find_indexes(Node& node) const {
    node.by_index.clear();
    for (const int child : node.children) {
        const Node& n = nodes_[static_cast<size_t>(child)];
        if (n.index < 0) continue;
        const auto [there, added] = node.by_index.emplace(n.index, child);
        if (added) continue;
        base::fail(base::kConflictingUpdateOperators,
                   "Cannot update the array elements '{}' and '{}' at the same time",
                   nodes_[static_cast<size_t>(there->second)].name, n.name);
    }
}

// The first mod that makes something appear below a missing node.
int ModTree::created_by(int node) const {
    sched::tick();
    const Node& n = nodes_[static_cast<size_t>(node)];
    if (n.mod >= 0) {
        const Mod& m = mods_[static_cast<size_t>(n.mod)];
        return m.modifier->creates() ? n.mod : kNothing;
    }
    int first = kNothing;
    for (const int child : n.children)
        first = std::min(first, created_by(child));
    return first;
}

int ModTree::first_mod(int node) const {
    sched::tick();
    const Node& n = nodes_[static_cast<size_t>(node)];
    int first = n.mod >= 0 ? n.mod : kNothing;
    for (const int child : n.children)
        first = std::min(first, first_mod(child));
    return first;
}

std::vector<int> ModTree::creation_order(const Node& node) const {
    std::vector<std::pair<int, int>> order;
    for (const int child : node.children) {
        if (nodes_[static_cast<size_t>(child)].seen) continue;
        const int by = created_by(child);
        if (by != kNothing) order.emplace_back(by, child);
    }
    std::sort(order.begin(), order.end());
    std::vector<int> children;
    for (const auto& [by, child] : order)
        children.push_back(child);
    return children;
}

int ModTree::child_named(const Node& node, std::string_view name) const {
    const size_t at = node.index_of_names.find(name, node.children.size(), [&](size_t i) {
        return nodes_[static_cast<size_t>(node.children[i])].name;
    });
    return at == FieldIndex::kNone ? -1 : node.children[at];
}

int ModTree::find_child(const Node& node, std::string_view name, int64_t index,
                        bool in_array) const {
    int child = -1;
    if (!in_array) {
        child = child_named(node, name);
    } else if (const auto found = node.by_index.find(index); found != node.by_index.end()) {
        child = found->second;
    }
    return child < 0 || nodes_[static_cast<size_t>(child)].seen ? -1 : child;
}

bool ModTree::apply(bson::Doc old, bson::Buffer& out) {
    changed_ = false;
    sched::tick_bytes(old.size(), sched::PerTick::converted);
    for (Mod& m : mods_)
        m.written = m.removed = false;
    write_doc(0, old, false, 1, out);
    return changed_;
}

void ModTree::write_doc(int node, bson::Doc old, bool is_array, int depth, bson::Buffer& out) {
    Node& self = nodes_[static_cast<size_t>(node)];
    for (const int child : self.children) {
        Node& n = nodes_[static_cast<size_t>(child)];
        n.seen = is_array && n.index < 0;
        if (n.seen && !tolerates_bad_path(child)) {
            base::fail(base::kPathNotViable, "Cannot use the part ({}) to traverse an array",
                       n.name);
        }
    }
    if (is_array) find_indexes(self);
    const size_t start = open_doc(out);
    const uint8_t* copied = old.data() + 4;
    size_t pending = self.children.size();
    int64_t index = 0;
    for (const Element& e : old) {
        if (pending == 0 && !is_array) break;
        sched::tick();
        const int child = find_child(self, e.name(), index, is_array);
        ++index;
        if (child < 0) continue;
        nodes_[static_cast<size_t>(child)].seen = true;
        --pending;
        out.append(copied, static_cast<size_t>(e.raw() - copied));
        write_element(child, e, e.name(), is_array, depth, out);
        copied = e.raw() + e.size();
    }
    out.append(copied, static_cast<size_t>(old.data() + old.size() - 1 - copied));
    if (is_array) {
        append_elements(self, index, depth, out);
    } else {
        for (const int child : creation_order(self)) {
            create(child, nodes_[static_cast<size_t>(child)].name, depth, out);
        }
    }
    close_doc(out, start);
}

void ModTree::write_element(int node, const Element& old, std::string_view name, bool in_array,
                            int depth, bson::Buffer& out) {
    const Node& n = nodes_[static_cast<size_t>(node)];
    if (n.mod < 0) {
        if (old.is_object() || old.is_array()) {
            write_header(out, old.type(), name);
            write_doc(node, old.as_doc(), old.is_array(), depth + 1, out);
            return;
        }
        if (!tolerates_bad_path(node)) {
            base::fail(base::kPathNotViable, "Cannot create a field in element {{{}: {}}}", name,
                       bson::to_text(old));
        }
        write_value(out, name, old);
        return;
    }
    Mod& m = mods_[static_cast<size_t>(n.mod)];
    if (m.moved) {
        // A renamed field replaces its namesake at the end of the document.
        nodes_[static_cast<size_t>(node)].seen = false;
        return;
    }
    const Effect effect = m.modifier->apply(old, name, out);
    if (effect == Effect::none) {
        write_value(out, name, old);
        return;
    }
    changed_ = true;
    m.written = effect == Effect::write;
    m.removed = effect == Effect::remove;
    if (m.removed && in_array) write_null(out, name);
}

// Elements beyond the end of an array, in their order, nulls between them. A modifier that comes
// after another one has reached further finds such a null.
void ModTree::append_elements(const Node& array, int64_t length, int depth, bson::Buffer& out) {
    static constexpr uint8_t kNull[] = {static_cast<uint8_t>(bson::Type::null), 0};
    std::vector<int> beyond;
    for (const int child : array.children) {
        if (!nodes_[static_cast<size_t>(child)].seen) beyond.push_back(child);
    }
    const auto index_of = [this](int node) { return nodes_[static_cast<size_t>(node)].index; };
    std::sort(beyond.begin(), beyond.end(),
              [&](int a, int b) { return index_of(a) < index_of(b); });
    // The first mod that creates something behind each of them.
    std::vector<int> first_behind(beyond.size() + 1, kNothing);
    for (size_t i = beyond.size(); i-- > 0;)
        first_behind[i] = std::min(first_behind[i + 1], created_by(beyond[i]));
    for (size_t i = 0; i < beyond.size(); ++i) {
        const int child = beyond[i];
        const bool padded = first_behind[i + 1] < first_mod(child);
        if (!padded && created_by(child) == kNothing) continue;
        if (index_of(child) > kLastPosition) {
            base::fail(base::kCannotBackfillArray,
                       "Cannot add elements to an array behind index {}: {}", kLastPosition,
                       index_of(child));
        }
        for (; length < index_of(child); ++length) {
            sched::tick();
            write_null(out, bson::IndexName(static_cast<uint32_t>(length)).view());
        }
        const bson::IndexName name(static_cast<uint32_t>(length++));
        if (padded) {
            write_element(child, Element(kNull), name.view(), true, depth, out);
        } else {
            create(child, name.view(), depth, out);
        }
    }
}

void ModTree::create(int node, std::string_view name, int depth, bson::Buffer& out) {
    if (depth > bson::kDepthMax) {
        base::fail(base::kOverflow, "Document exceeds the maximum nesting depth of {}",
                   bson::kDepthMax);
    }
    Node& n = nodes_[static_cast<size_t>(node)];
    if (n.mod >= 0) {
        Mod& m = mods_[static_cast<size_t>(n.mod)];
        m.written = m.modifier->apply(Element(), name, out) == Effect::write;
        changed_ = changed_ || m.written;
        return;
    }
    for (const int child : n.children)
        nodes_[static_cast<size_t>(child)].seen = false;
    write_header(out, bson::Type::object, name);
    const size_t start = open_doc(out);
    for (const int child : creation_order(n)) {
        create(child, nodes_[static_cast<size_t>(child)].name, depth + 1, out);
    }
    close_doc(out, start);
}

}  // namespace query
