// query/match/field_index.h - finding a field by its name among those that a specification gives.
//
// Specifications keep their fields in a vector, since their order counts. The first few are looked
// at one by one, the others are found by a hash, so that 10^5 of them over a document of as many
// fields are no 10^10 steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sched/counted.h"

namespace query {

class FieldIndex {
  public:
    static constexpr size_t kNone = static_cast<size_t>(-1);

    // A field was put at the end of the vector, at position `at`.
    void added(size_t at, std::string_view name) {
        if (at >= kFew) positions_.emplace(name, at);
    }

    // The first field of that name. `name_at(i)` gives the name of the i-th of `count` fields.
    template <typename NameAt>
    size_t find(std::string_view name, size_t count, NameAt&& name_at) const {
        for (size_t i = 0; i < std::min(count, kFew); ++i)
            if (name_at(i) == name) return i;
        if (count <= kFew) return kNone;
        const auto found = positions_.find(name);
        return found == positions_.end() ? kNone : found->second;
    }

  private:
    static constexpr size_t kFew = 8;
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view name) const {
            return std::hash<std::string_view>()(name);
        }
    };
    std::unordered_map<sched::String, size_t, Hash, std::equal_to<>,
                       sched::CountingAllocator<std::pair<const sched::String, size_t>>>
        positions_;  // from kFew on
};

}  // namespace query
