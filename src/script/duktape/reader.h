// script/duktape/reader.h - reading BSON, for a shared object that has nothing of the room bson.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "bson/types.h"

namespace script {

template <typename T>
T load(const uint8_t* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

// A field of a valid document; type eoo: there is none.
struct Field {
    bson::Type type = bson::Type::eoo;
    std::string_view name;
    const uint8_t* value = nullptr;

    explicit operator bool() const { return type != bson::Type::eoo; }
    size_t value_size() const;
    // Of a string, code, symbol.
    std::string_view text() const {
        return {reinterpret_cast<const char*>(value + 4),
                static_cast<size_t>(load<int32_t>(value)) - 1};
    }
    // Of code with a scope: its code.
    std::string_view scoped_text() const {
        return {reinterpret_cast<const char*>(value + 8),
                static_cast<size_t>(load<int32_t>(value + 4)) - 1};
    }
};

inline size_t Field::value_size() const {
    using bson::Type;
    switch (type) {
        case Type::number_double:
        case Type::date:
        case Type::timestamp:
        case Type::int64:
            return 8;
        case Type::string:
        case Type::code:
        case Type::symbol:
            return 4 + static_cast<size_t>(load<int32_t>(value));
        case Type::object:
        case Type::array:
        case Type::code_with_scope:
            return static_cast<size_t>(load<int32_t>(value));
        case Type::binary:
            return 5 + static_cast<size_t>(load<int32_t>(value));
        case Type::object_id:
            return 12;
        case Type::boolean:
            return 1;
        case Type::regex: {
            const auto* const pattern = reinterpret_cast<const char*>(value);
            const size_t first = std::strlen(pattern) + 1;
            return first + std::strlen(pattern + first) + 1;
        }
        case Type::db_pointer:
            return 16 + static_cast<size_t>(load<int32_t>(value));
        case Type::int32:
            return 4;
        case Type::decimal128:
            return 16;
        default:
            return 0;
    }
}

// The fields of a document: `for (Fields fields(p); Field field = fields.next();)`.
class Fields {
  public:
    explicit Fields(const uint8_t* document) : p_(document + 4) {}
    Field next() {
        if (*p_ == 0) return {};
        Field field;
        field.type = static_cast<bson::Type>(*p_);
        field.name = reinterpret_cast<const char*>(p_ + 1);
        field.value = p_ + field.name.size() + 2;
        p_ = field.value + field.value_size();
        return field;
    }

  private:
    const uint8_t* p_;
};

inline Field find_field(const uint8_t* document, std::string_view name) {
    Fields fields(document);
    Field field = fields.next();
    while (field && field.name != name)
        field = fields.next();
    return field;
}

}  // namespace script
