// bson/element_writer.h - appending single elements to a buffer that holds an open document.
#pragma once

#include <string_view>

#include "base/dcheck.h"
#include "bson/builder.h"
#include "bson/view.h"

namespace query {

inline void write_header(bson::Buffer& out, bson::Type type, std::string_view name) {
    DCHECK(name.find('\0') == std::string_view::npos);
    uint8_t* p = out.extend(name.size() + 2);
    *p = static_cast<uint8_t>(type);
    if (!name.empty()) std::memcpy(p + 1, name.data(), name.size());
    p[name.size() + 1] = 0;
}

inline void write_value(bson::Buffer& out, std::string_view name, const bson::Element& value) {
    write_header(out, value.type(), name);
    const auto bytes = value.value_bytes();
    out.append(bytes.data(), bytes.size());
}

template <typename T>
void write_fixed(bson::Buffer& out, bson::Type type, std::string_view name, const T& value) {
    write_header(out, type, name);
    out.append_value(value);
}

inline void write_null(bson::Buffer& out, std::string_view name) {
    write_header(out, bson::Type::null, name);
}

// Opens a document at the end of `out` and returns its start for close_doc.
inline size_t open_doc(bson::Buffer& out) {
    const size_t start = out.size();
    out.append_value<int32_t>(0);
    return start;
}

inline void close_doc(bson::Buffer& out, size_t start) {
    out.append_byte(0);
    out.store<int32_t>(start, static_cast<int32_t>(out.size() - start));
}

}  // namespace query
