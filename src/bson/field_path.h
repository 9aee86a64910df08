// bson/field_path.h - a dotted field path, cut into its parts once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bson {

class FieldPath {
  public:
    static constexpr int64_t kNoIndex = -1;

    FieldPath() = default;
    // "a.b" has two parts, "a." a second, empty one, and "" is one empty part. Only a default
    // made path has none.
    explicit FieldPath(std::string_view dotted);

    size_t size() const { return parts_.size(); }
    std::string_view part(size_t i) const {
        return std::string_view(text_).substr(parts_[i].offset, parts_[i].length);
    }
    // The array position a part names ("0", "12", not "012"), or kNoIndex.
    int64_t index(size_t i) const { return parts_[i].index; }
    // Whether nothing but an empty last part is left: "a." over an array means the array.
    bool only_empty_left(size_t i) const { return i + 1 == size() && parts_[i].length == 0; }
    const std::string& text() const { return text_; }

  private:
    struct Part {
        uint32_t offset;
        uint32_t length;
        int64_t index;
    };
    std::string text_;
    std::vector<Part> parts_;
};

// The array position a field name stands for, or FieldPath::kNoIndex.
int64_t parse_array_index(std::string_view name);

}  // namespace bson
