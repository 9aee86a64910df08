#include "bson/field_path.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace bson {

void check_path_parts(std::string_view dotted, size_t parts_max) {
    // A path of so many parts has at least as many bytes, dots included.
    if (dotted.size() < parts_max) return;
    const auto dots = static_cast<size_t>(std::ranges::count(dotted, '.'));
    if (dots < parts_max) return;
    constexpr size_t kShownBytes = 40;
    base::fail(base::kOverflow, "the path '{}...' has {} parts, at most {} are allowed",
               dotted.substr(0, kShownBytes), dots + 1, parts_max);
}

int64_t parse_array_index(std::string_view name) {
    if (name.empty() || name.size() > 10 || (name[0] == '0' && name.size() > 1))
        return FieldPath::kNoIndex;
    int64_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool whole = error == std::errc() && end == name.data() + name.size() && index >= 0;
    return whole && name[0] != '-' ? index : FieldPath::kNoIndex;
}

FieldPath::FieldPath(std::string_view dotted, size_t parts_max) {
    check_path_parts(dotted, parts_max);
    text_ = dotted;
    size_t start = 0;
    while (true) {
        const size_t dot = text_.find('.', start);
        const size_t end = dot == std::string::npos ? text_.size() : dot;
        const std::string_view name = std::string_view(text_).substr(start, end - start);
        parts_.push_back({static_cast<uint32_t>(start), static_cast<uint32_t>(name.size()),
                          parse_array_index(name)});
        if (parts_.back().index != kNoIndex) ++index_count_;
        if (dot == std::string::npos) return;
        start = dot + 1;
    }
}

}  // namespace bson
