// storage/keys/number.h - the encoding of numbers: one order for all four kinds of them.
//
//   class     values                                 payload
//   20        NaN, of any kind                       -
//   21, 37    -infinity, infinity                    -
//   22, 36    up to -2^64, from 2^64 on              magnitude, tail
//   23..2A    with an integer part of 8..1 bytes,    integer part; 01 if that is all; else 02,
//             negative                               2^64 times the fraction (8 bytes), tail
//   2B, 2D    between -1 and 0, between 0 and 1      magnitude, tail
//   2C        zero                                   -
//   2E..35    with an integer part of 1..8 bytes     as 23..2A
//
//   magnitude   as a double, towards zero, at most the largest finite one: its 8 bytes
//   tail        00: that is all of it, as for every double; or 01 and the decimal: the exponent of
//               its first digit + 16384 (2 bytes), 34 digits, two in a byte
//
// Behind the class byte of a negative number all bytes are complemented. Integers and magnitudes
// are big-endian. types: 00 int32, 01 int64, 02 double, 03 the double -0.0, 04 a double that is NaN
// and its 8 bytes, 05 a decimal and its 16 bytes.
#pragma once

#include "bson/builder.h"
#include "storage/keys/reader.h"

namespace keys {

// Appends the lowest `bytes` bytes of it, big-endian: what Reader::take_integer reads.
inline void put_integer(bson::Buffer& out, uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out.append_byte(static_cast<uint8_t>(value >> shift));
}

void encode_number(const bson::Element& number, bson::Buffer& key, bson::Buffer& types);

// Appends the number whose class byte was read. Throws what Reader does.
void decode_number(uint8_t number_class, Reader& key, Reader& types, std::string_view name,
                   bson::Builder& out);

}  // namespace keys
