#include "query/distinct.h"

#include <algorithm>

#include "base/error.h"

namespace query {

using bson::Doc;
using bson::Element;

void DistinctValues::add(Doc doc) {
    collect(doc, path_);
}

void DistinctValues::add_value(const Element& value) {
    if (seen_.contains(value)) return;
    const uint32_t size = value.value_size();
    bytes_ += size + 2;
    if (bytes_ > kMaxBytes) base::fail(17217, "distinct too big, 16mb cap");
    std::unique_ptr<uint8_t[]> copy(new uint8_t[size + 2]);
    copy[0] = static_cast<uint8_t>(value.type());
    copy[1] = 0;
    std::memcpy(copy.get() + 2, value.value(), size);
    seen_.insert(Element(copy.get()));
    values_.push_back(std::move(copy));
}

void DistinctValues::append_to(bson::Builder& array) const {
    for (const auto& value : values_)
        array.push_element(Element(value.get()));
}

// A field whose name is the whole rest of the path, dots included, goes first.
void DistinctValues::collect(Doc doc, std::string_view path) {
    if (const Element e = doc[path]) {
        if (!e.is_array()) {
            add_value(e);
            return;
        }
        for (const Element& member : e.as_doc())
            add_value(member);
        return;
    }
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos) return;
    const Element e = doc[path.substr(0, dot)];
    const std::string_view rest = path.substr(dot + 1);
    if (e.is_object())
        collect(e.as_doc(), rest);
    else if (e.is_array())
        collect_members(e, rest);
}

// A number names an element of the array, anything else a field of its documents.
void DistinctValues::collect_members(const Element& array, std::string_view path) {
    const std::string_view part = path.substr(0, path.find('.'));
    const bool number =
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number) {
        collect(array.as_doc(), path);
        return;
    }
    for (const Element& member : array.as_doc())
        if (member.is_object()) collect(member.as_doc(), path);
}

}  // namespace query
