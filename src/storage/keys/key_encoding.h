// storage/keys/key_encoding.h - index keys as bytes whose order, compared as memory with the
// shorter of two that agree first, is that of bson::compare_keys. For engines that keep an ordered
// map from bytes to bytes. Version 1.
//
// A key is one encoded field after the other, so the encoding of some first fields is a prefix of
// all keys that begin with them, and kPast behind it sorts after all of these. A field is a class
// byte and a payload that says itself where it ends; of a descending field all bytes are
// complemented. Facts that the order does not need, as whether a number was an int32 or a double,
// go into `types`: a few bytes for each value that has any, zeros at the end left out. Key and
// types together give the values back to the bit.
//
//   class    values                payload; bytes of types
//   08, F0   MinKey, MaxKey        -
//   10       undefined             -
//   18       null                  -
//   20..37   numbers               number.h
//   68       string, symbol        bytes, 00 as 00 FF, end 00 00; 0 string, 1 symbol
//   70       object                for each field class byte, name as a string, the value; end 01
//   78       array                 the values; end 01. Their names are taken for 0, 1, 2 ...
//   80       binary                length in 4 bytes, subtype, bytes
//   88       ObjectId              12 bytes
//   90, 91   false, true           -
//   98       date, timestamp       00 before 1970, else 01; 8 bytes; 0 date, 1 timestamp
//   A0       regex                 pattern and flags as strings
//   A8       DBRef                 length in 4 bytes, bytes of the value
//   B0       code                  as a string
//   B8       code with scope       the code as a string; the scope as an object
//
// Integers are big-endian. One thing differs from bson::compare_keys: the order is exact from 2^53
// on, where that one takes an int64 that meets a double for a double. A scan therefore widens such
// ends (wide_end), and its filter decides; and a unique index takes both INT64_MAX and the double
// 2^63.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bson/builder.h"

namespace keys {

using Bytes = std::span<const uint8_t>;

// More than any class byte and its complement.
constexpr uint8_t kPast = 0xff;

// Appends the encoding of all values of `values`, whose names do not count; bit i of `descending`
// is set where field i is. `types` may be the same each time: it begins with what is new in it.
// Throws what sched::tick does.
void encode(bson::Doc values, uint32_t descending, bson::Buffer& key, bson::Buffer& types);

// Appends the values as a document with empty names. Throws base::Error kInternalError, with `out`
// as it was, where the bytes cannot be what encode() made; and what sched::tick does.
void decode(Bytes key, Bytes types, uint32_t descending, bson::Buffer& out);

// Returns where a scan has to begin or to end for every value that bson::compare_values takes for
// equal to a number from 2^53 on, and perhaps a few more; nothing for any other value, whose end is
// its encoding.
enum class Side : uint8_t { low, high };
std::optional<double> wide_end(const bson::Element& value, Side side);

}  // namespace keys
