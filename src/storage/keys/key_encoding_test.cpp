#include "storage/keys/key_encoding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/testing/json.h"
#include "bson/testing/values.h"
#include "bson/validate.h"

namespace keys {
namespace {

using bson::Builder;
using bson::Doc;
using bson::Element;
using bson::Object;

struct Encoded {
    std::vector<uint8_t> key, types;
};

Encoded encoded(Doc values, uint32_t descending = 0) {
    bson::Buffer key, types;
    encode(values, descending, key, types);
    return {{key.data(), key.data() + key.size()}, {types.data(), types.data() + types.size()}};
}

Object decoded(const Encoded& from, uint32_t descending = 0) {
    bson::Buffer out;
    decode(from.key, from.types, descending, out);
    return Object(Doc(out.data()));
}

int sign(int c) {
    return c < 0 ? -1 : (c > 0 ? 1 : 0);
}

int compared(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
    return a < b ? -1 : (b < a ? 1 : 0);
}

// {"": v, ...} for one or more values in extended JSON.
Object key_of(const std::string& json) {
    return bson::parse_test_json("{\"\": " + json + "}");
}

std::string hex(const std::vector<uint8_t>& bytes) {
    std::string text;
    for (const uint8_t byte : bytes)
        text += fmt::format("{:02x}", byte);
    return text;
}

Object decimal(const std::string& text) {
    return key_of(R"({"$numberDecimal": ")" + text + "\"}");
}

TEST(KeyEncoding, Bytes) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"$minKey": 1})", "08/"},
        {R"({"$undefined": true})", "10/"},
        {"null", "18/"},
        {R"({"$numberDouble": "NaN"})", "20/04000000000000f87f"},
        {R"({"$numberDouble": "-Infinity"})", "21/02"},
        {R"({"$numberInt": "-1"})", "2afefe/"},
        {R"({"$numberInt": "0"})", "2c/"},
        {R"({"$numberDouble": "-0.0"})", "2c/03"},
        {R"({"$numberInt": "1"})", "2e0101/"},
        {R"({"$numberLong": "256"})", "2f010001/01"},
        {R"({"$numberDouble": "1.5"})", "2e0102800000000000000000/02"},
        {R"({"$numberDouble": "0.5"})", "2d3fe000000000000000/02"},
        {R"({"$numberDouble": "18446744073709551616"})", "3643f000000000000000/02"},
        {R"({"$numberLong": "-9223372036854775808"})", "237ffffffffffffffffe/01"},
        {R"("a")", "68610000/"},
        {R"("\u0000")", "6800ff0000/"},
        {R"({"x": true})",
         "7090780000910"
         "1/"},
        {"[null, false]", "78189001/"},
        {R"({"$oid": "0102030405060708090a0b0c"})", "880102030405060708090a0b0c/"},
        {R"({"$date": {"$numberLong": "-1"}})", "9800ffffffffffffffff/"},
        {R"({"$date": {"$numberLong": "1"}})", "98010000000000000001/"},
        {R"({"$timestamp": {"t": 1, "i": 2}})", "98010000000100000002/01"},
        {R"({"$maxKey": 1})", "f0/"},
    };
    for (const auto& [json, expected] : cases) {
        const Encoded found = encoded(key_of(json));
        EXPECT_EQ(hex(found.key) + "/" + hex(found.types), expected) << json;
    }
    EXPECT_EQ(hex(encoded(key_of("null"), 1).key), "e7");
}

// Each below the next one; those in one line are equal.
TEST(KeyEncoding, NumbersStandInOneOrder) {
    const auto number = [](const char* kind, const char* text) {
        return key_of(fmt::format(R"({{"$number{}": "{}"}})", kind, text));
    };
    const std::vector<std::vector<Object>> order = {
        {number("Double", "NaN"), decimal("NaN")},
        {number("Double", "-Infinity"), decimal("-Infinity")},
        {decimal("-1E+6000")},
        {number("Double", "-1.7976931348623157e308")},
        {decimal("-18446744073709551617")},
        {number("Double", "-18446744073709551616"), decimal("-18446744073709551616")},
        {decimal("-18446744073709551615.5")},
        {number("Long", "-9223372036854775808"), number("Double", "-9223372036854775808")},
        {number("Long", "-9223372036854775807")},
        {number("Int", "-256"), decimal("-256.00")},
        {number("Int", "-255")},
        {number("Double", "-1.5"), decimal("-1.5")},
        {decimal("-1.3")},
        {number("Int", "-1"), number("Double", "-1")},
        {decimal("-0.1")},
        {decimal("-0.099999999999999999999999999999")},
        {number("Double", "-5e-324")},
        {decimal("-1E-400")},
        {decimal("-1E-401")},
        {decimal("-0"), number("Double", "-0.0"), number("Int", "0"), decimal("0E+20")},
        {decimal("1E-6176")},
        {decimal("1E-400")},
        {decimal("1.1E-400")},
        {number("Double", "5e-324")},
        {decimal("0.1")},
        {number("Double", "0.1")},  // a little above 0.1
        {decimal("0.25"), number("Double", "0.25")},
        {decimal("0.3333333333333333333333333333333333")},
        {decimal("0.3333333333333333333333333333333334")},
        {number("Int", "1"), decimal("1"), decimal("1.000")},
        {decimal("1.000000000000000000000000000000001")},
        {number("Double", "1.0000000000000002")},
        {decimal("1.1")},
        {number("Double", "1.1")},
        {number("Int", "9")},
        {number("Int", "10"), decimal("1E+1")},
        {number("Double", "9007199254740992"), number("Long", "9007199254740992")},
        {number("Long", "9007199254740993"), decimal("9007199254740993")},
        {decimal("9007199254740993.5")},
        {number("Long", "9223372036854775807")},
        {number("Double", "9223372036854775808"), decimal("9223372036854775808")},
        {decimal("18446744073709551615")},
        {decimal("18446744073709551615.99999")},
        {number("Double", "18446744073709551616"), decimal("18446744073709551616")},
        {decimal("18446744073709551617")},
        {number("Double", "1.7976931348623157e308")},
        {decimal("1.8E+308")},
        {decimal("9.999999999999999999999999999999999E+6144")},
        {number("Double", "Infinity"), decimal("Infinity")},
    };
    for (size_t i = 0; i < order.size(); ++i) {
        for (const Object& a : order[i]) {
            EXPECT_EQ(decoded(encoded(a)).bytes(), a.bytes()) << i;
            for (size_t j = 0; j < order.size(); ++j) {
                for (const Object& b : order[j])
                    EXPECT_EQ(compared(encoded(a).key, encoded(b).key),
                              sign(static_cast<int>(i) - static_cast<int>(j)))
                        << i << " " << j;
            }
        }
    }
}

class RandomKeys {
  public:
    explicit RandomKeys(uint64_t seed) : values_(seed) {}

    Object next() {
        Builder b;
        for (uint64_t n = values_.below(3) + 1; n > 0; --n) {
            if (values_.below(8) == 0)
                b.append_as("", decimal(decimal_text()).doc().first());
            else
                values_.append(b, "");
        }
        return b.object();
    }
    uint32_t directions() { return static_cast<uint32_t>(values_.below(8)); }

  private:
    // Near the borders of classes, and of what a double tells apart.
    std::string decimal_text() {
        std::string text = values_.below(2) == 0 ? "-" : "";
        text += values_.pick({"0", "1", "1.5", "255.99", "256", "0.1", "1E-400", "5E-324", "1E+400",
                              "18446744073709551615.5", "18446744073709551616",
                              "18446744073709551617", "0.3333333333333333333333333333333333",
                              "0.9999999999999999999999999999999999", "1E-6176", "Infinity"});
        return text;
    }
    bson::TestValues values_;
};

bool has_large_numbers(Doc doc) {
    for (const Element& each : doc) {
        if (bson::is_large_number(each)) return true;
        if (each.type() == bson::Type::code_with_scope && has_large_numbers(each.code_scope()))
            return true;
        if ((each.is_object() || each.is_array()) && has_large_numbers(each.as_doc())) return true;
    }
    return false;
}

TEST(KeyEncoding, OrderIsThatOfCompareKeys) {
    constexpr int kRounds = 50'000;
    RandomKeys random(20260101);
    int large = 0;
    for (int round = 0; round < kRounds; ++round) {
        const uint32_t descending = random.directions();
        const Object a = random.next(), b = random.next();
        const Encoded ea = encoded(a, descending), eb = encoded(b, descending);
        ASSERT_EQ(decoded(ea, descending).bytes(), a.bytes()) << hex(ea.key);
        // From 2^53 on the other order is not exact.
        if (has_large_numbers(a) && has_large_numbers(b)) {
            ++large;
            continue;
        }
        ASSERT_EQ(compared(ea.key, eb.key), sign(bson::compare_keys(a, b, descending)))
            << hex(ea.key) << " " << hex(eb.key) << " " << descending;
    }
    EXPECT_LT(large, kRounds / 4);
}

TEST(KeyEncoding, FirstFieldsAreAPrefix) {
    constexpr int kRounds = 20'000;
    RandomKeys random(5);
    for (int round = 0; round < kRounds; ++round) {
        const uint32_t descending = random.directions();
        const Object key = random.next();
        Builder first;
        first.append_as("", key.doc().first());
        const Encoded whole = encoded(key, descending), begin = encoded(first.doc(), descending);
        ASSERT_GE(whole.key.size(), begin.key.size());
        ASSERT_TRUE(std::equal(begin.key.begin(), begin.key.end(), whole.key.begin()));
        std::vector<uint8_t> past = begin.key;
        past.push_back(kPast);
        ASSERT_LT(whole.key, past);
    }
}

// A cut key is the key of no document but one of its first fields.
TEST(KeyEncoding, NoKeyIsTheBeginningOfAnotherValue) {
    constexpr int kRounds = 2'000;
    RandomKeys random(6);
    for (int round = 0; round < kRounds; ++round) {
        const Encoded found = encoded(random.next());
        for (size_t length = 1; length < found.key.size(); ++length) {
            const std::vector<uint8_t> cut(found.key.begin(),
                                           found.key.begin() + static_cast<ptrdiff_t>(length));
            try {
                // Whole first fields may be left.
                EXPECT_EQ(encoded(decoded({cut, found.types})).key, cut);
            } catch (const base::Error& error) {
                EXPECT_EQ(error.code(), base::kInternalError);
            }
        }
    }
}

TEST(KeyEncoding, DamagedBytesAreRefusedOrAreValues) {
    constexpr int kRounds = 30'000;
    RandomKeys random(7);
    bson::TestValues dice(8);
    int refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        Encoded found = encoded(random.next());
        for (uint64_t n = dice.below(3) + 1; n > 0; --n) {
            std::vector<uint8_t>& part = dice.below(4) == 0 ? found.types : found.key;
            if (!part.empty())
                part[dice.below(part.size())] = static_cast<uint8_t>(dice.below(256));
        }
        bson::Buffer out;
        out.append_value(uint32_t{7});
        try {
            decode(found.key, found.types, 0, out);
            ASSERT_EQ(bson::validate(out.data() + 4, out.size() - 4), "") << hex(found.key);
        } catch (const base::Error& error) {
            ++refused;
            ASSERT_EQ(error.code(), base::kInternalError);
            ASSERT_EQ(out.size(), sizeof(uint32_t));
        }
    }
    EXPECT_GT(refused, kRounds / 4);
}

TEST(KeyEncoding, DeepNestingIsRefused) {
    std::vector<uint8_t> key(bson::kDepthMax + 2, 0x78);
    EXPECT_THROW(decoded({key, {}}), base::Error);
    key.assign(3, 0x78);
    key.insert(key.end(), 3, 0x01);
    EXPECT_EQ(decoded({key, {}}).bytes(), key_of("[[[]]]").bytes());
}

// The values that compare_values takes for equal lie between the ends.
TEST(KeyEncoding, ScansBeginBeforeAllThatIsEqual) {
    const auto number = [](const std::string& text) {
        return key_of(R"({"$numberDouble": ")" + text + "\"}");
    };
    const auto whole = [](const std::string& text) {
        return key_of(R"({"$numberLong": ")" + text + "\"}");
    };
    std::vector<Object> large = {number("9223372036854775808"),  whole("9223372036854775807"),
                                 whole("9223372036854775806"),   decimal("9223372036854775807.5"),
                                 decimal("9007199254740991.75"), number("9007199254740992"),
                                 number("-9007199254740994"),    whole("-9007199254740993"),
                                 whole("9007199254740993"),      decimal("9007199254740993.25"),
                                 number("18446744073709551616"), decimal("1E+400")};
    for (const Object& end : large) {
        const auto low = wide_end(end.doc().first(), Side::low);
        const auto high = wide_end(end.doc().first(), Side::high);
        ASSERT_TRUE(low && high);
        for (const Object& other : large) {
            if (bson::compare_values(end.doc().first(), other.doc().first()) != 0) continue;
            EXPECT_LE(encoded(bson::make("", *low)).key, encoded(other).key);
            EXPECT_GE(encoded(bson::make("", *high)).key, encoded(other).key);
        }
    }
    EXPECT_FALSE(wide_end(number("9007199254740991").doc().first(), Side::low));
    EXPECT_FALSE(wide_end(number("Infinity").doc().first(), Side::low));
    EXPECT_FALSE(wide_end(key_of("\"a\"").doc().first(), Side::high));
}

}  // namespace
}  // namespace keys
