// query/match/path.h - the walk that finds the values a dotted path names.
//
// A path walks documents. If it meets an array before its end, it goes on in every element that is
// a document, and, if the next part is a decimal index, also in the element at that index. At its
// end an array stands for each of its elements and then for itself. A path that leads nowhere gives
// one missing value; elements of an array that are neither documents nor named by an index give
// nothing at all. Walking allocates nothing, except on a path of many numbers: there it remembers
// where it has been, since each number may be a name and an index, and the ways to one place double
// with every one.
#pragma once

#include <functional>

#include "sched/counted.h"
#include "sched/tick.h"

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
    // FieldPath::kNoIndex if it met none. An index in the path is such a step only at its end.
    int64_t array_index = FieldPath::kNoIndex;
    // The value is an array whose elements were given before.
    bool whole_array = false;
};

namespace detail {

// Places that a walk has left without an end: from there it would find nothing again.
class Visited {
  public:
    bool first_time(const uint8_t* place, size_t part) {
        return seen_.insert({place, part}).second;
    }

  private:
    struct Spot {
        const uint8_t* place;
        size_t part;
        bool operator==(const Spot&) const = default;
    };
    struct Hash {
        size_t operator()(const Spot& spot) const {
            return std::hash<const void*>()(spot.place) * 31 + spot.part;
        }
    };
    sched::UnorderedSet<Spot, Hash> seen_;
};

template <typename Visit>
bool walk_leaf(const bson::Element& e, int64_t array_index, LeafArrays arrays, Visit& visit) {
    if (!e.is_array() || arrays == LeafArrays::keep) return visit(PathValue{e, array_index, false});
    int64_t i = 0;
    for (const bson::Element& member : sched::ticked(e.as_doc())) {
        if (visit(PathValue{member, array_index == FieldPath::kNoIndex ? i : array_index, false}))
            return true;
        ++i;
    }
    return visit(PathValue{e, array_index, true});
}

template <typename Visit>
bool walk_document(const FieldPath& path, size_t part, bson::Doc doc, int64_t array_index,
                   LeafArrays arrays, Visited* visited, Visit& visit);

// `part`: the first part not used up when the walk met the array.
template <typename Visit>
bool walk_array(const FieldPath& path, size_t part, const bson::Element& array, int64_t array_index,
                LeafArrays arrays, Visited* visited, Visit& visit) {
    if (visited != nullptr && !visited->first_time(array.raw(), part)) return false;
    if (path.only_empty_left(part)) return walk_leaf(array, array_index, arrays, visit);
    const int64_t wanted = path.index(part);
    int64_t i = 0;
    for (const bson::Element& member : sched::ticked(array.as_doc())) {
        const int64_t outer = array_index == FieldPath::kNoIndex ? i : array_index;
        if (member.is_object() &&
            walk_document(path, part, member.as_doc(), outer, arrays, visited, visit)) {
            return true;
        }
        if (i == wanted) {
            if (part + 1 == path.size()) {
                if (visit(PathValue{member, outer, false})) return true;
            } else if (member.is_object()) {
                if (walk_document(path, part + 1, member.as_doc(), array_index, arrays, visited,
                                  visit))
                    return true;
            } else if (member.is_array()) {
                if (walk_array(path, part + 1, member, array_index, arrays, visited, visit))
                    return true;
            }
        }
        ++i;
    }
    return false;
}

template <typename Visit>
bool walk_document(const FieldPath& path, size_t part, bson::Doc doc, int64_t array_index,
                   LeafArrays arrays, Visited* visited, Visit& visit) {
    if (visited != nullptr && !visited->first_time(doc.data(), part)) return false;
    sched::tick_bytes(doc.size(), sched::PerTick::walked);
    bson::Element e = doc[path.part(part)];
    while (++part < path.size() && e.is_object())
        e = e.as_doc()[path.part(part)];
    if (part == path.size()) return walk_leaf(e, array_index, arrays, visit);
    if (e.is_array()) return walk_array(path, part, e, array_index, arrays, visited, visit);
    return visit(PathValue{bson::Element(), array_index, false});
}

}  // namespace detail

// Calls visit(const PathValue&) -> bool for the values at `path`, in the document's order, until it
// returns true. Returns whether it did. `visit` answers by the value alone: one that is reached in
// several ways may be given only once.
template <typename Visit>
bool visit_values(const FieldPath& path, bson::Doc doc, LeafArrays arrays, Visit&& visit) {
    constexpr size_t kFewIndexes = 3;
    if (path.index_count() <= kFewIndexes)
        return detail::walk_document(path, 0, doc, FieldPath::kNoIndex, arrays, nullptr, visit);
    detail::Visited visited;
    return detail::walk_document(path, 0, doc, FieldPath::kNoIndex, arrays, &visited, visit);
}

}  // namespace query
