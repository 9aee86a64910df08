// query/update/update_tree.h - where modifiers apply: their paths as a tree, and the one pass that
// writes the new document.
//
// Paths of one update never touch each other (error 40), so the order of modifiers matters only for
// the order in which missing fields appear. The pass copies whole stretches between changed
// elements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "query/match/field_index.h"
#include "query/update/update_modifier.h"

namespace query {

// One operator on one path.
struct Mod {
    std::vector<std::string> path;
    sched::Charge charge;  // of it
    int positional = -1;   // part of `path` that stands for the matched array index
    // Parts of `path` that stand for elements of an array: which part, and their filter
    // (query/update/array_filters.h). Such a Mod is no part of a tree.
    std::vector<std::pair<size_t, int>> arrays;
    Modifier* modifier = nullptr;
    std::unique_ptr<Modifier> own;  // null: it is that of the Mod with `arrays` it is made of
    bool on_insert_only = false;
    // The first part that is a name and starts with '$', -1: none. Such are checked after writing;
    // of old clients only the last one.
    int odd_part = -1;
    bool moved = false;  // $rename: writes what the Mod before it removes
    // These change while one document is worked on:
    bool written = false;  // produced a new value
    bool removed = false;

    void take(std::unique_ptr<Modifier> made) {
        own = std::move(made);
        modifier = own.get();
    }
};

// The place in a document to which a path leads.
struct FieldLocation {
    bson::Element element;       // what stands at the deepest part that exists
    size_t depth = 0;            // how many parts exist
    bool through_array = false;  // some existing part is an element of an array
    // The part after the deepest existing one can't be created: the parent is a scalar, or an array
    // and the part no index.
    bool blocked = false;
};
FieldLocation locate_field(const std::vector<std::string>& path, bson::Doc doc);
// Throws base::Error 28 for a blocked place.
[[noreturn]] void fail_blocked(const std::vector<std::string>& path, const FieldLocation& place);
// Throws base::Error 40: another modifier works at or around this path.
[[noreturn]] void fail_conflict(const std::vector<std::string>& path);

// Decimal array index, or -1.
int64_t array_index(std::string_view text);

class ModTree {
  public:
    // Throws base::Error 40 where two paths are equal or one leads through the other. Mods that
    // apply only to inserts are left out unless `for_insert`. The mods must outlive the tree, and
    // their paths stay as they are.
    ModTree(std::span<Mod> mods, bool for_insert);

    // Writes the changed copy of `old` at the end of `out`. Returns whether anything changed; sets
    // written/removed of the mods. Throws base::Error.
    bool apply(bson::Doc old, bson::Buffer& out);

  private:
    struct Node {
        std::string_view name;
        int64_t index = -1;  // as an array index
        int mod = -1;        // leaf
        bool seen = false;   // during one visit of the parent
        sched::Vector<int> children;
        FieldIndex index_of_names;                   // of `children`
        sched::UnorderedMap<int64_t, int> by_index;  // of `children`, while an array is written
    };
    static constexpr int kNothing = 1 << 30;

    void insert(int mod);
    bool tolerates_bad_path(int node) const;
    void find_indexes(Node& node) const;
    int child_named(const Node& node, std::string_view name) const;
    int created_by(int node) const;
    int first_mod(int node) const;
    std::vector<int> creation_order(const Node& node) const;
    int find_child(const Node& node, std::string_view name, int64_t index, bool in_array) const;

    void write_doc(int node, bson::Doc old, bool is_array, int depth, bson::Buffer& out);
    void write_element(int node, const bson::Element& old, std::string_view name, bool in_array,
                       int depth, bson::Buffer& out);
    void append_elements(const Node& array, int64_t length, int depth, bson::Buffer& out);
    void create(int node, std::string_view name, int depth, bson::Buffer& out);

    std::span<Mod> mods_;
    sched::Vector<Node> nodes_;  // [0] is the root
    bool changed_ = false;
};

}  // namespace query
