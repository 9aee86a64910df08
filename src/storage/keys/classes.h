// storage/keys/classes.h - the class bytes of encoded keys, and marks inside of payloads.
#pragma once

#include <cstdint>

#include "bson/types.h"

namespace keys {

enum Class : uint8_t {
    kMinKey = 0x08,
    kUndefined = 0x10,
    kNull = 0x18,
    kNumbers = 0x20,  // the first of them
    kNumbersLast = 0x37,
    kText = 0x68,
    kObject = 0x70,
    kArray = 0x78,
    kBinary = 0x80,
    kObjectId = 0x88,
    kFalse = 0x90,
    kTrue = 0x91,
    kTime = 0x98,
    kRegex = 0xa0,
    kDbRef = 0xa8,
    kCode = 0xb0,
    kCodeWithScope = 0xb8,
    kMaxKey = 0xf0,
};

constexpr uint8_t kEndOfValues = 0x01;  // of an object or an array, where a class may stand
constexpr uint8_t kNulInText = 0xff;    // behind 00: the text goes on
constexpr uint8_t kEndOfText = 0x00;    // behind 00
constexpr uint8_t kBefore1970 = 0x00;   // of a date
constexpr uint8_t kSince1970 = 0x01;

// Returns the class by which a field of an object is ordered before its name: numbers are one
// class.
constexpr uint8_t class_of(bson::Type type) {
    switch (type) {
        case bson::Type::min_key:
            return kMinKey;
        case bson::Type::eoo:
        case bson::Type::undefined:
            return kUndefined;
        case bson::Type::null:
            return kNull;
        case bson::Type::number_double:
        case bson::Type::int32:
        case bson::Type::int64:
        case bson::Type::decimal128:
            return kNumbers;
        case bson::Type::string:
        case bson::Type::symbol:
            return kText;
        case bson::Type::object:
            return kObject;
        case bson::Type::array:
            return kArray;
        case bson::Type::binary:
            return kBinary;
        case bson::Type::object_id:
            return kObjectId;
        case bson::Type::boolean:
            return kFalse;
        case bson::Type::date:
        case bson::Type::timestamp:
            return kTime;
        case bson::Type::regex:
            return kRegex;
        case bson::Type::db_pointer:
            return kDbRef;
        case bson::Type::code:
            return kCode;
        case bson::Type::code_with_scope:
            return kCodeWithScope;
        case bson::Type::max_key:
            return kMaxKey;
    }
    return kMaxKey;
}

}  // namespace keys
