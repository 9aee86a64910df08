#include "storage/keys/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "bson/decimal.h"
#include "bson/decimal128.h"
#include "storage/keys/classes.h"

namespace keys {

namespace {

using bson::Buffer;
using bson::Element;
using bson::Type;

constexpr uint8_t kNan = kNumbers, kLowest = 0x21, kHighest = kNumbersLast;
constexpr uint8_t kZero = 0x2c;
constexpr int kFraction = 1;         // classes away from zero: below 1
constexpr int kLarge = 10;           // from 2^64 on
constexpr int kIntegerBytesMax = 8;  // a part of n bytes is n + kFraction away
static_assert(kZero + kLarge == kHighest - 1 && kZero - kLarge == kLowest + 1);
static_assert(kFraction + kIntegerBytesMax + 1 == kLarge);

enum Kind : uint8_t { kInt32, kInt64, kDouble, kNegativeZero, kNanDouble, kDecimal };
constexpr uint8_t kWhole = 0x01, kWithFraction = 0x02;
constexpr uint8_t kExact = 0x00, kWithDecimal = 0x01;

constexpr double kTwo64 = 18446744073709551616.0;
constexpr int kDecimalDigits = 34;
constexpr int kExponentBias = 16384;
constexpr size_t kDecimalBytes = 16;

int bytes_of(uint64_t value) {
    return (std::bit_width(value) + 7) / 8;
}

// A finite number but zero, in parts.
struct Parts {
    bool negative = false;
    int away = 0;           // classes from zero
    uint64_t integer = 0;   // away between kFraction and kLarge
    uint64_t fraction = 0;  // the same, times 2^64; else the bits of the magnitude
    bool has_fraction = false;
    const bson::Digits* decimal = nullptr;  // where fraction or magnitude is not all of it
};

void put(const Parts& parts, Buffer& key) {
    key.append_byte(static_cast<uint8_t>(parts.negative ? kZero - parts.away : kZero + parts.away));
    const size_t begin = key.size();
    const bool in_bytes = parts.away != kFraction && parts.away != kLarge;
    if (in_bytes) put_integer(key, parts.integer, parts.away - kFraction);
    if (in_bytes) key.append_byte(parts.has_fraction ? kWithFraction : kWhole);
    if (!in_bytes || parts.has_fraction) {
        put_integer(key, parts.fraction, 8);
        key.append_byte(parts.decimal == nullptr ? kExact : kWithDecimal);
        if (parts.decimal != nullptr) {
            const int exponent = parts.decimal->exponent + kExponentBias;
            put_integer(key, static_cast<uint64_t>(exponent), 2);
            std::string digits = parts.decimal->digits;
            digits.resize(kDecimalDigits, '0');
            for (size_t i = 0; i < digits.size(); i += 2)
                key.append_byte(
                    static_cast<uint8_t>((digits[i] - '0') << 4 | (digits[i + 1] - '0')));
        }
    }
    if (!parts.negative) return;
    for (size_t i = begin; i < key.size(); ++i)
        key.data()[i] ^= 0xff;
}

void encode_integer(int64_t value, Buffer& key) {
    if (value == 0) return key.append_byte(kZero);
    Parts parts;
    parts.negative = value < 0;
    parts.integer = parts.negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    parts.away = kFraction + bytes_of(parts.integer);
    put(parts, key);
}

// The class of a magnitude, and its parts as far as a double has them.
void set_magnitude(Parts& parts, double magnitude) {
    if (magnitude < 1 || magnitude >= kTwo64) {
        parts.away = magnitude < 1 ? kFraction : kLarge;
        parts.fraction = std::bit_cast<uint64_t>(magnitude);
        return;
    }
    parts.integer = static_cast<uint64_t>(magnitude);
    parts.away = kFraction + bytes_of(parts.integer);
    const double fraction = magnitude - static_cast<double>(parts.integer);
    parts.has_fraction = fraction != 0;
    parts.fraction = static_cast<uint64_t>(std::ldexp(fraction, 64));
}

void encode_double(double value, Buffer& key) {
    if (std::isnan(value)) return key.append_byte(kNan);
    if (std::isinf(value)) return key.append_byte(value < 0 ? kLowest : kHighest);
    if (value == 0) return key.append_byte(kZero);
    Parts parts;
    parts.negative = value < 0;
    set_magnitude(parts, std::abs(value));
    put(parts, key);
}

// The greatest double that is not beyond the magnitude of a decimal, and whether it is that.
// REQUIRES: below 1, or from 2^64 on: there the comparison is exact.
struct Truncated {
    double magnitude;
    bool exact;
};
Truncated truncate(const Element& decimal) {
    const double nearest = decimal.to_double();
    if (std::isinf(nearest)) return {std::numeric_limits<double>::max(), false};
    const bson::Object as_key = bson::make("", nearest);
    const int c = bson::compare_decimal(decimal, as_key.doc().first());
    const bool beyond = nearest < 0 ? c > 0 : c < 0;
    return {std::abs(beyond ? std::nextafter(nearest, 0.0) : nearest), c == 0};
}

using Wide = unsigned __int128;

Wide as_number(std::string_view digits) {
    Wide value = 0;
    for (const char digit : digits)
        value = value * 10 + static_cast<unsigned>(digit - '0');
    return value;
}

// The integer part of a decimal, if it has one of at most eight bytes.
bool integer_part(const bson::Digits& digits, uint64_t* part) {
    constexpr int kExponentMax = 19;  // 2^64 has twenty digits
    if (digits.exponent < 0 || digits.exponent > kExponentMax) return false;
    std::string text = digits.digits.substr(0, static_cast<size_t>(digits.exponent) + 1);
    text.resize(static_cast<size_t>(digits.exponent) + 1, '0');
    const Wide value = as_number(text);
    *part = static_cast<uint64_t>(value);
    return value == *part;
}

void encode_finite_decimal(const Element& decimal, Buffer& key) {
    const bson::Digits digits = bson::digits_of(bson::decimal128_text(decimal.value()));
    Parts parts;
    parts.negative = digits.negative;
    if (!integer_part(digits, &parts.integer)) {
        const Truncated found = truncate(decimal);
        parts.away = digits.exponent < 0 ? kFraction : kLarge;
        parts.fraction = std::bit_cast<uint64_t>(found.magnitude);
        parts.decimal = found.exact ? nullptr : &digits;
        return put(parts, key);
    }
    parts.away = kFraction + bytes_of(parts.integer);
    const size_t behind = std::min(digits.digits.size(), static_cast<size_t>(digits.exponent) + 1);
    const std::string_view rest = std::string_view(digits.digits).substr(behind);
    parts.has_fraction = !rest.empty();
    // Bit after bit: 34 digits times two still fit.
    Wide left = as_number(rest);
    Wide one = 1;
    for (size_t i = 0; i < rest.size(); ++i)
        one *= 10;
    for (int bit = 0; bit < 64; ++bit) {
        left *= 2;
        const bool set = left >= one;
        parts.fraction = parts.fraction << 1 | (set ? 1 : 0);
        if (set) left -= one;
    }
    parts.decimal = left == 0 ? nullptr : &digits;
    put(parts, key);
}

void encode_decimal(const Element& decimal, Buffer& key) {
    if (!bson::decimal128_is_finite(decimal.value()))
        return encode_double(decimal.to_double(), key);
    if (bson::decimal128_is_zero(decimal.value())) return key.append_byte(kZero);
    encode_finite_decimal(decimal, key);
}

// Reads back what put() has written, as a double. The rest of a decimal is passed over: its bytes
// are among the types.
double take_double(uint8_t number_class, Reader& key) {
    if (number_class == kLowest) return -std::numeric_limits<double>::infinity();
    if (number_class == kHighest) return std::numeric_limits<double>::infinity();
    if (number_class == kZero) return 0;
    const bool negative = number_class < kZero;
    const int away = std::abs(number_class - kZero);
    const uint8_t mask = negative ? 0xff : 0;
    key.complement(mask);
    const bool in_bytes = away != kFraction && away != kLarge;
    double magnitude = 0;
    bool more = true;
    if (in_bytes) {
        magnitude = static_cast<double>(key.take_integer(away - kFraction));
        const uint8_t mark = key.take();
        if (mark != kWhole && mark != kWithFraction) damaged("a number goes on in no known way");
        more = mark == kWithFraction;
    }
    if (more) {
        const uint64_t bits = key.take_integer(8);
        magnitude = in_bytes ? magnitude + std::ldexp(static_cast<double>(bits), -64)
                             : std::bit_cast<double>(bits);
        const uint8_t tail = key.take();
        if (tail != kExact && tail != kWithDecimal) damaged("a number ends in no known way");
        if (tail == kWithDecimal) {
            for (int i = 0; i < 2 + kDecimalDigits / 2; ++i)
                key.take();
        }
    }
    key.complement(mask);
    return negative ? -magnitude : magnitude;
}

int64_t take_int64(uint8_t number_class, Reader& key) {
    if (number_class == kZero) return 0;
    const bool negative = number_class < kZero;
    const int bytes = std::abs(number_class - kZero) - kFraction;
    if (bytes < 1 || bytes > kIntegerBytesMax)
        damaged("an integer has the class of another number");
    const uint8_t mask = negative ? 0xff : 0;
    key.complement(mask);
    const uint64_t magnitude = key.take_integer(bytes);
    if (key.take() != kWhole) damaged("an integer has a fraction");
    key.complement(mask);
    constexpr uint64_t kSign = uint64_t{1} << 63;
    if (magnitude > (negative ? kSign : kSign - 1)) damaged("an integer is out of range");
    return static_cast<int64_t>(negative ? -magnitude : magnitude);
}

template <typename T>
T take_bytes(Reader& types) {
    T value;
    for (size_t i = 0; i < sizeof value; ++i)
        reinterpret_cast<uint8_t*>(&value)[i] = types.take();
    return value;
}

}  // namespace

void encode_number(const Element& number, Buffer& key, Buffer& types) {
    switch (number.type()) {
        case Type::int32:
            types.append_byte(kInt32);
            return encode_integer(number.as_int32(), key);
        case Type::int64:
            types.append_byte(kInt64);
            return encode_integer(number.as_int64(), key);
        case Type::number_double: {
            const double value = number.as_double();
            encode_double(value, key);
            if (std::isnan(value)) {
                types.append_byte(kNanDouble);
                types.append_value(value);
                return;
            }
            return types.append_byte(value == 0 && std::signbit(value) ? kNegativeZero : kDouble);
        }
        default:
            DCHECK(number.type() == Type::decimal128);
            encode_decimal(number, key);
            types.append_byte(kDecimal);
            types.append(number.value(), kDecimalBytes);
    }
}

void decode_number(uint8_t number_class, Reader& key, Reader& types, std::string_view name,
                   bson::Builder& out) {
    DCHECK(number_class >= kNumbers && number_class <= kNumbersLast);
    const uint8_t kind = types.take();
    switch (kind) {
        case kInt32: {
            const int64_t value = take_int64(number_class, key);
            if (value != static_cast<int32_t>(value)) damaged("an int32 is out of range");
            out.append(name, static_cast<int32_t>(value));
            return;
        }
        case kInt64:
            out.append(name, take_int64(number_class, key));
            return;
        case kDouble:
            if (number_class == kNan) break;
            out.append(name, take_double(number_class, key));
            return;
        case kNegativeZero:
            if (number_class != kZero) break;
            out.append(name, -0.0);
            return;
        case kNanDouble:
            if (number_class != kNan) break;
            out.append(name, take_bytes<double>(types));
            return;
        case kDecimal: {
            if (number_class != kNan) take_double(number_class, key);
            uint8_t bytes[kDecimalBytes];
            for (uint8_t& byte : bytes)
                byte = types.take();
            out.bytes(Type::decimal128, name, bytes);
            return;
        }
        default:
            break;
    }
    damaged("a number has the class of another kind");
}

}  // namespace keys
