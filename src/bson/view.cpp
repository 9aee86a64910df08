#include "bson/view.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "bson/decimal128.h"

namespace bson {

const uint8_t Doc::kEmpty[5] = {5, 0, 0, 0, 0};

uint32_t Element::regex_size() const {
    return static_cast<uint32_t>(regex_pattern().size() + 1 + regex_flags().size() + 1);
}

std::string_view Element::code_text() const {
    return {reinterpret_cast<const char*>(value() + 8),
            static_cast<size_t>(load<int32_t>(value() + 4)) - 1};
}

Doc Element::code_scope() const {
    return Doc(value() + 8 + load<int32_t>(value() + 4));
}

double Element::to_double() const {
    switch (type()) {
        case Type::number_double:
            return as_double();
        case Type::int32:
            return as_int32();
        case Type::int64:
            return static_cast<double>(as_int64());
        case Type::decimal128:
            return decimal128_to_double(value());
        default:
            return 0;
    }
}

int64_t Element::to_int64() const {
    switch (type()) {
        case Type::number_double: {
            const double d = as_double();
            if (std::isnan(d)) return 0;
            if (d >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
            if (d < -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
            return static_cast<int64_t>(d);
        }
        case Type::int32:
            return as_int32();
        case Type::int64:
            return as_int64();
        case Type::decimal128:
            return decimal128_to_int64(value());
        default:
            return 0;
    }
}

int32_t Element::to_int32() const {
    const int64_t v = to_int64();
    if (v > std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
    if (v < std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
    return static_cast<int32_t>(v);
}

bool Element::truthy() const {
    switch (type()) {
        case Type::eoo:
        case Type::null:
        case Type::undefined:
            return false;
        case Type::boolean:
            return as_bool();
        case Type::number_double:
            return as_double() != 0;
        case Type::int32:
            return as_int32() != 0;
        case Type::int64:
            return as_int64() != 0;
        case Type::decimal128:
            return !decimal128_is_zero(value());
        default:
            return true;
    }
}

Element Doc::operator[](std::string_view name) const {
    // Each request is asked for some of its fields; this costs less than an iterator.
    for (const uint8_t* p = data_ + 4; *p != 0;) {
        const Element e(p);
        if (e.name() == name) return e;
        p += e.size();
    }
    return {};
}

Element Doc::at_path(std::string_view dotted) const {
    Doc doc = *this;
    for (;;) {
        const size_t dot = dotted.find('.');
        const Element e = doc[dotted.substr(0, dot)];
        if (dot == std::string_view::npos) return e;
        if (!e.is_object() && !e.is_array()) return {};
        doc = e.as_doc();
        dotted.remove_prefix(dot + 1);
    }
}

int Doc::field_count() const {
    int n = 0;
    for (auto it = begin(); it != end(); ++it)
        ++n;
    return n;
}

IndexName::IndexName(uint32_t index) {
    size_ = static_cast<uint32_t>(std::to_chars(text_, text_ + sizeof text_, index).ptr - text_);
}

}  // namespace bson
