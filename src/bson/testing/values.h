// bson/testing/values.h - random BSON values for property tests: every type, with many near-equal
// and extreme values, so that ties and borders come up often.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bson/builder.h"

namespace bson {

class TestValues {
  public:
    // `largest` of the int64s. The default and the double 2^63 are equal, whatever their keys are
    // in an index (storage/keys/key_encoding.h).
    explicit TestValues(uint64_t seed, int64_t largest = std::numeric_limits<int64_t>::max())
        : random_(seed), largest_(largest) {}

    uint64_t below(uint64_t n) { return random_() % n; }
    template <typename T>
    T pick(std::initializer_list<T> choices) {
        return *(choices.begin() + below(choices.size()));
    }

    std::string text() {
        static const char* const kAlphabet[] = {"a", "b", "\xc3\xa4", "\xff", "Z"};
        std::string s;
        for (uint64_t n = below(4); n > 0; --n)
            s += kAlphabet[below(5)];
        if (below(16) == 0) s += std::string(1, '\0') + (below(2) == 0 ? "a" : "");
        if (below(32) == 0) s += std::string(pick({254, 255, 256}) - s.size(), 'x');
        return s;
    }
    double number() {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        constexpr double kTwo53 = 9007199254740992.0;
        if (below(2) == 0) return static_cast<double>(below(8)) - 4;
        return pick({0.0, -0.0, 0.5, -1.5, 1e300, -1e300, 5e-324, kInfinity, -kInfinity, kTwo53,
                     -kTwo53, kTwo53 + 2, 9223372036854775808.0,
                     std::numeric_limits<double>::quiet_NaN()});
    }
    // A double holds each of them, too (the largest rounds to one that no other rounds to): among
    // other int64s beyond 2^53 and doubles being equal is not transitive.
    int64_t whole() {
        constexpr int64_t kTwo53 = int64_t{1} << 53;
        if (below(2) == 0) return static_cast<int64_t>(below(8)) - 4;
        return pick<int64_t>({kTwo53 - 1, kTwo53, kTwo53 + 2, -kTwo53, -kTwo53 - 2, -kTwo53 + 1,
                              largest_, std::numeric_limits<int64_t>::min()});
    }
    std::vector<uint8_t> blob() {
        std::vector<uint8_t> bytes(pick({0, 1, 2, 7, 8, 9, 10, 16, 20, 31, 32, 33}));
        for (uint8_t& b : bytes)
            b = below(4) == 0 ? 0xff : 1;
        return bytes;
    }
    ObjectId object_id() {
        ObjectId id;
        for (uint8_t& b : id.bytes)
            b = below(8) == 0 ? 0x80 : 0;
        return id;
    }

    // A document with up to three random fields.
    Object document(int depth) {
        Builder b;
        for (uint64_t n = below(4); n > 0; --n)
            append(b, pick({"x", "y", ""}), depth);
        return b.object();
    }

    // Appends one value of any type; objects nest up to `depth`. No timestamps among the dates:
    // what they are to each other has a test of its own.
    void append(Builder& b, std::string_view name, int depth = 2) {
        switch (below(depth > 0 ? 20 : 17)) {
            case 0:
            case 1:
                b.append(name, number());
                return;
            case 2:
            case 3:
                b.append(name, static_cast<int32_t>(below(8)) - 4);
                return;
            case 4:
                b.append(name, whole());
                return;
            case 5:
            case 6:
                b.append(name, text());
                return;
            case 7:
                b.append_symbol(name, text());
                return;
            case 8: {
                const std::vector<uint8_t> bytes = blob();
                b.append_binary(name, pick<uint8_t>({0, 1, 2, 4, 7, 8, 0x80, 0x87, 0x88}), bytes);
                return;
            }
            case 9:
                b.append(name, object_id());
                return;
            case 10:
                b.append(name, below(2) == 0);
                return;
            case 11:
                b.append_date(name, whole());
                return;
            case 12:
                b.append_null(name);
                return;
            case 13:
                below(2) == 0 ? b.append_undefined(name)
                              : b.append_regex(name, "a", pick({"", "i"}));
                return;
            case 14:
                below(2) == 0 ? b.append_min_key(name) : b.append_max_key(name);
                return;
            case 15:
                b.append_code(name, text());
                return;
            case 16:
                append_rare(b, name);
                return;
            case 17:
            case 18:
                b.append(name, document(depth - 1));
                return;
            default: {
                Builder array = b.sub_array(name);
                for (uint64_t i = 0, n = below(4); i < n; ++i)
                    append(array, IndexName(static_cast<uint32_t>(i)).view(), depth - 1);
                return;
            }
        }
    }

  private:
    void append_rare(Builder& b, std::string_view name) {
        Buffer value;
        if (below(2) == 0) {  // DBPointer: a string and an ObjectId
            value.append_value<int32_t>(2);
            value.append_byte(static_cast<uint8_t>('a' + below(2)));
            value.append_byte(0);
            value.append_value(object_id());
            b.bytes(Type::db_pointer, name, {value.data(), value.size()});
            return;
        }
        const Object scope = document(0);
        value.append_value<int32_t>(4 + 4 + 2 + scope.size());
        value.append_value<int32_t>(2);
        value.append_byte(static_cast<uint8_t>('f' + below(2)));
        value.append_byte(0);
        value.append(scope.bytes().data(), scope.bytes().size());
        b.bytes(Type::code_with_scope, name, {value.data(), value.size()});
    }

    std::mt19937_64 random_;
    const int64_t largest_;
};

}  // namespace bson
