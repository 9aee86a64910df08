// query/match/path.h - the walk that finds the values a dotted path names.
//
// A path walks documents. Where it meets an array before its end, it goes on in every element that
// is a document, and, where the next part is a decimal index, also in the element at that index. At
// its end an array stands for each of its elements and then for itself. A path that leads nowhere
// gives one missing value; elements of an array that are neither documents nor named by an index
// give nothing at all. Walking allocates nothing.
#pragma once

#include "bson/field_path.h"
#include "bson/view.h"

namespace query {

using bson::FieldPath;

enum class LeafArrays {
    expand,  // an array at the end of the path: each element, then the array
    keep,    // the array only
};

// One value found by a walk.
struct PathValue {
    bson::Element value;
    // Position in the outermost array whose elements the walk went through by itself;
    // FieldPath::kNoIndex if it met none. An index in the path is such a step only at its end;
    // before it makes all arrays behind it count for nothing (kHidden).
    int64_t array_index = FieldPath::kNoIndex;
    static constexpr int64_t kHidden = FieldPath::kNoIndex - 1;
    // The value is an array whose elements were given before.
    bool whole_array = false;
};

namespace detail {

template <typename Visit>
bool walk_leaf(const bson::Element& e, int64_t array_index, LeafArrays arrays, Visit& visit) {
    if (!e.is_array() || arrays == LeafArrays::keep) return visit(PathValue{e, array_index, false});
    int64_t i = 0;
    for (const bson::Element& member : e.as_doc()) {
        if (visit(PathValue{member, array_index == FieldPath::kNoIndex ? i : array_index, false}))
            return true;
        ++i;
    }
    return visit(PathValue{e, array_index, true});
}

template <typename Visit>
bool walk_document(const FieldPath& path, size_t part, bson::Doc doc, int64_t array_index,
                   LeafArrays arrays, Visit& visit);

// `part`: the first part not used up when the walk met the array.
template <typename Visit>
bool walk_array(const FieldPath& path, size_t part, const bson::Element& array, int64_t array_index,
                LeafArrays arrays, Visit& visit) {
    if (path.only_empty_left(part)) return walk_leaf(array, array_index, arrays, visit);
    const int64_t wanted = path.index(part);
    const int64_t behind_index =
        array_index == FieldPath::kNoIndex ? PathValue::kHidden : array_index;
    int64_t i = 0;
    for (const bson::Element& member : array.as_doc()) {
        const int64_t outer = array_index == FieldPath::kNoIndex ? i : array_index;
        if (member.is_object() &&
            walk_document(path, part, member.as_doc(), outer, arrays, visit)) {
            return true;
        }
        if (i == wanted) {
            if (part + 1 == path.size()) {
                if (visit(PathValue{member, outer, false})) return true;
            } else if (member.is_object()) {
                if (walk_document(path, part + 1, member.as_doc(), behind_index, arrays, visit))
                    return true;
            } else if (member.is_array()) {
                if (walk_array(path, part + 1, member, behind_index, arrays, visit)) return true;
            }
        }
        ++i;
    }
    return false;
}

template <typename Visit>
bool walk_document(const FieldPath& path, size_t part, bson::Doc doc, int64_t array_index,
                   LeafArrays arrays, Visit& visit) {
    bson::Element e = doc[path.part(part)];
    while (++part < path.size() && e.is_object())
        e = e.as_doc()[path.part(part)];
    if (part == path.size()) return walk_leaf(e, array_index, arrays, visit);
    if (e.is_array()) return walk_array(path, part, e, array_index, arrays, visit);
    return visit(PathValue{bson::Element(), array_index, false});
}

}  // namespace detail

// Calls visit(const PathValue&) -> bool for the values at `path`, in the document's order, until it
// returns true. Returns whether it did.
template <typename Visit>
bool visit_values(const FieldPath& path, bson::Doc doc, LeafArrays arrays, Visit&& visit) {
    return detail::walk_document(path, 0, doc, FieldPath::kNoIndex, arrays, visit);
}

}  // namespace query
