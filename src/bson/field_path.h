// bson/field_path.h - a dotted field path, cut into its parts once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bson {

// More parts than any document of use has levels. Code that splits a path refuses longer ones, so
// that nothing that goes along it, part by part, runs out of stack.
constexpr size_t kPathPartsMax = 200;

// Throws base::Error 15 for a path of more parts.
void check_path_parts(std::string_view dotted, size_t parts_max = kPathPartsMax);

class FieldPath {
  public:
    static constexpr int64_t kNoIndex = -1;

    FieldPath() = default;
    // "a.b" has two parts, "a." a second, empty one, and "" is one empty part. Only a default
    // made path has none. Throws base::Error 15 beyond `parts_max`.
    explicit FieldPath(std::string_view dotted, size_t parts_max = kPathPartsMax);

    size_t size() const { return parts_.size(); }
    std::string_view part(size_t i) const {
        return std::string_view(text_).substr(parts_[i].offset, parts_[i].length);
    }
    // The array position a part names ("0", "12", not "012"), or kNoIndex.
    int64_t index(size_t i) const { return parts_[i].index; }
    // How many parts name array positions.
    size_t index_count() const { return index_count_; }
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
    size_t index_count_ = 0;
};

// The array position a field name stands for, or FieldPath::kNoIndex.
int64_t parse_array_index(std::string_view name);

}  // namespace bson
