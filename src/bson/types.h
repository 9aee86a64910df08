// bson/types.h - type bytes of BSON elements and the canonical classes that order values of
// different types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bson {

enum class Type : int8_t {
    min_key = -1,
    eoo = 0,  // the terminator; also what a missing field reads as
    number_double = 1,
    string = 2,
    object = 3,
    array = 4,
    binary = 5,
    undefined = 6,
    object_id = 7,
    boolean = 8,
    date = 9,
    null = 10,
    regex = 11,
    db_pointer = 12,
    code = 13,
    symbol = 14,
    code_with_scope = 15,
    int32 = 16,
    timestamp = 17,
    int64 = 18,
    decimal128 = 19,  // of servers from 3.4 on
    max_key = 127,
};

// Whether it is the number of a type that a value can have.
constexpr bool is_type(int64_t number) {
    return (number > 0 && number <= static_cast<int64_t>(Type::decimal128)) ||
           number == static_cast<int8_t>(Type::min_key) ||
           number == static_cast<int8_t>(Type::max_key);
}
// The type that a filter calls by this name, as "string" or "binData".
std::optional<Type> type_of_name(std::string_view name);

// Order of classes (wire spec 4.1): values of different classes compare by this number alone.
constexpr int canonical_class(Type type) {
    switch (type) {
        case Type::min_key:
            return -1;
        case Type::eoo:
        case Type::undefined:
            return 0;
        case Type::null:
            return 5;
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::decimal128:
            return 10;
        case Type::string:
        case Type::symbol:
            return 15;
        case Type::object:
            return 20;
        case Type::array:
            return 25;
        case Type::binary:
            return 30;
        case Type::object_id:
            return 35;
        case Type::boolean:
            return 40;
        case Type::date:
        case Type::timestamp:
            return 45;
        case Type::regex:
            return 50;
        case Type::db_pointer:
            return 55;
        case Type::code:
            return 60;
        case Type::code_with_scope:
            return 65;
        case Type::max_key:
            return 127;
    }
    return -1;
}

constexpr bool is_number(Type type) {
    return type == Type::number_double || type == Type::int32 || type == Type::int64 ||
           type == Type::decimal128;
}

constexpr int32_t kDocumentBytesMax = 16 * 1024 * 1024;  // what a user may store
constexpr int32_t kInternalBytesMax =
    kDocumentBytesMax + 16 * 1024;  // wrappers around such a document
// Nesting accepted on receipt. 2.6 had no limit and is recorded with 500 levels; newer servers stop
// at 200, which a query of 100 nested $and, the limit for queries, does not even fit in. This one
// only keeps recursion over documents inside a thread's stack.
constexpr int kDepthMax = 1024;

}  // namespace bson
