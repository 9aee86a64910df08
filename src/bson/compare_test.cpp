#include "bson/compare.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "bson/testing/values.h"
#include "sched/operation.h"

namespace bson {
namespace {

int sign(int c) {
    return (c > 0) - (c < 0);
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One-field documents in ascending order, classes as in wire spec 4.1; the values of one inner
// list are equal.
std::vector<std::vector<Object>> ascending() {
    const auto one = [](auto append) {
        Builder b;
        append(b);
        return b.object();
    };
    const auto binary = [&](uint8_t subtype, std::vector<uint8_t> bytes) {
        return one([&](Builder& b) { b.append_binary("v", subtype, bytes); });
    };
    const auto array = [&](auto... values) {
        return one([&](Builder& b) {
            Builder a = b.sub_array("v");
            (a.push(values), ...);
        });
    };
    const auto symbol = [&](std::string_view s) {
        return one([&](Builder& b) { b.append_symbol("v", s); });
    };
    const auto date = [&](int64_t ms) { return one([&](Builder& b) { b.append_date("v", ms); }); };
    const auto timestamp = [&](uint64_t t) {
        return one([&](Builder& b) { b.append_timestamp("v", t); });
    };
    const auto regex = [&](const char* pattern, const char* flags) {
        return one([&](Builder& b) { b.append_regex("v", pattern, flags); });
    };
    const auto nul = std::string("a\0", 2);
    constexpr int64_t kTwo53 = int64_t{1} << 53;
    constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    return {
        {one([](Builder& b) { b.append_min_key("v"); })},
        {one([](Builder& b) { b.append_undefined("v"); })},
        {one([](Builder& b) { b.append_null("v"); })},
        {make("v", kNaN), make("v", -kNaN)},
        {make("v", -kInfinity)},
        {make("v", kMin), make("v", -9223372036854775808.0)},
        {make("v", -1.5)},
        {make("v", -1), make("v", int64_t{-1}), make("v", -1.0)},
        {make("v", 0), make("v", 0.0), make("v", -0.0), make("v", int64_t{0})},
        {make("v", 0.5)},
        {make("v", 1), make("v", 1.0)},
        {make("v", kTwo53), make("v", static_cast<double>(kTwo53))},
        {make("v", kTwo53 + 2), make("v", static_cast<double>(kTwo53 + 2))},
        {make("v", kInt64Max), make("v", 9223372036854775808.0)},
        {make("v", kInfinity)},
        {make("v", ""), symbol("")},
        {make("v", "a"), symbol("a")},
        {make("v", nul)},
        {make("v", "aa")},
        {make("v", "b")},
        {make("v", "\xc3\xa4")},
        {make("v", make())},
        {make("v", make("a", 1)), make("v", make("a", 1.0))},
        {make("v", make("a", 1, "b", 0))},
        {make("v", make("b", 0))},
        {make("v", make("a", "x"))},  // class before name
        {array()},
        {array(1), array(1.0)},
        {array(1, 1)},
        {array(2)},
        {array("a")},
        {binary(5, {})},
        {binary(0, {9})},
        {binary(0x80, {1})},
        {binary(0, {1, 1})},
        {binary(0, {1, 0xff})},
        {make("v", ObjectId{{0, 0, 0, 1}})},
        {make("v", ObjectId{{0x80}})},
        {make("v", false)},
        {make("v", true)},
        {date(kMin)},
        {date(-1)},
        {date(0), timestamp(0)},
        {date(5), timestamp(5)},
        {timestamp(uint64_t{1} << 63)},
        {regex("a", "")},
        {regex("a", "i")},
        {regex("b", "")},
        {one([](Builder& b) { b.append_code("v", "f"); })},
        {one([](Builder& b) { b.append_code("v", "g"); })},
        {one([](Builder& b) { b.append_max_key("v"); })},
    };
}

TEST(Compare, FollowsTheTableOfTypes) {
    const auto groups = ascending();
    for (size_t i = 0; i < groups.size(); ++i) {
        for (size_t j = 0; j < groups.size(); ++j) {
            for (const Object& a : groups[i]) {
                for (const Object& b : groups[j]) {
                    EXPECT_EQ(sign(compare_values(a["v"], b["v"])), (i > j) - (i < j))
                        << "group " << i << " with group " << j;
                }
            }
        }
    }
}

TEST(Compare, IntegersAreExactAmongThemselvesAndDoublesBesideDoubles) {
    constexpr int64_t kTwo53 = int64_t{1} << 53;
    const Object low = make("v", kTwo53);
    const Object high = make("v", kTwo53 + 1);
    const Object both = make("v", static_cast<double>(kTwo53));
    EXPECT_LT(compare_values(low["v"], high["v"]), 0);
    EXPECT_GT(compare_values(high["v"], low["v"]), 0);
    for (const Object& whole : {low, high}) {
        EXPECT_EQ(compare_values(whole["v"], both["v"]), 0);
        EXPECT_EQ(compare_values(both["v"], whole["v"]), 0);
    }
    const Object above = make("v", static_cast<double>(kTwo53 + 2));
    EXPECT_LT(compare_values(high["v"], above["v"]), 0);
}

TEST(Compare, NumbersFrom2To53OnAreLargeButNotInfinity) {
    constexpr int64_t kTwo53 = int64_t{1} << 53;
    constexpr auto kReal = static_cast<double>(kTwo53);
    for (const Object& large :
         {make("v", kTwo53), make("v", -kTwo53), make("v", kReal), make("v", -kReal),
          make("v", 1e308), make("v", INT64_MAX), make("v", INT64_MIN),
          parse_test_json(R"({"v": {"$numberDecimal": "9007199254740992"}})"),
          parse_test_json(R"({"v": {"$numberDecimal": "-1E+400"}})")})
        EXPECT_TRUE(is_large_number(large["v"])) << to_text(large);
    for (const Object& other :
         {make("v", kTwo53 - 1), make("v", kReal - 1), make("v", INT32_MAX), make("v", kInfinity),
          make("v", -kInfinity), make("v", kNaN), make("v", "9007199254740993"),
          parse_test_json(R"({"v": {"$numberDecimal": "9007199254740990"}})"),
          parse_test_json(R"({"v": {"$numberDecimal": "NaN"}})"), Object()})
        EXPECT_FALSE(is_large_number(other["v"])) << to_text(other);
}

TEST(Compare, AMissingFieldIsBelowNull) {
    const Object null = make("a", 1);
    Builder b;
    b.append_null("v");
    EXPECT_LT(compare_values(null["none"], b.doc()["v"]), 0);
    EXPECT_EQ(compare_values(null["none"], null["other"]), 0);
}

TEST(Compare, NamesCountInsideDocumentsAndNotInKeys) {
    EXPECT_LT(compare_docs(make("a", 2), make("b", 1)), 0);
    EXPECT_GT(compare_docs(make("a", 2), make("b", 1), false), 0);
    EXPECT_EQ(compare_keys(make("", 1), make("x", 1.0), 0), 0);
}

TEST(Compare, KeysNegateDescendingFields) {
    const Object low = make("", 1, "", "a");
    const Object high = make("", 1, "", "b");
    EXPECT_LT(compare_keys(low, high, 0), 0);
    EXPECT_LT(compare_keys(low, high, 1), 0);
    EXPECT_GT(compare_keys(low, high, 2), 0);
    EXPECT_LT(compare_keys(make("", 1), low, 3), 0);  // a prefix is smaller either way
    EXPECT_GT(compare_keys(low, make("", 1), 3), 0);
}

// The order "less" is transitive even where being equal is not.
TEST(Compare, LessIsTransitiveAmongAllNumbers) {
    constexpr int64_t kTwo53 = int64_t{1} << 53;
    std::vector<Object> numbers = {make("v", kNaN), make("v", -kInfinity), make("v", kInfinity)};
    for (int64_t i = -3; i <= 3; ++i) {
        for (const int64_t middle : {-kTwo53, int64_t{0}, kTwo53, 4 * kTwo53}) {
            numbers.push_back(make("v", middle + i));
            numbers.push_back(make("v", static_cast<double>(middle + i)));
        }
    }
    const auto less = [](const Object& a, const Object& b) {
        return compare_values(a["v"], b["v"]) < 0;
    };
    for (const Object& a : numbers) {
        EXPECT_FALSE(less(a, a));
        for (const Object& b : numbers) {
            EXPECT_EQ(less(a, b), compare_values(b["v"], a["v"]) > 0);
            for (const Object& c : numbers) {
                if (less(a, b) && less(b, c)) {
                    EXPECT_TRUE(less(a, c));
                }
            }
        }
    }
}

// An order over anything but int64s that no double holds: antisymmetric, transitive, and equal only
// to itself.
TEST(Compare, IsAnOrder) {
    TestValues values(42);
    for (int round = 0; round < 300; ++round) {
        std::vector<Object> docs;
        for (int i = 0; i < 16; ++i) {
            Builder b;
            values.append(b, "v");
            docs.push_back(b.object());
        }
        for (const Object& a : docs) {
            ASSERT_EQ(compare_values(a["v"], a["v"]), 0);
            for (const Object& b : docs) {
                const int ab = sign(compare_values(a["v"], b["v"]));
                ASSERT_EQ(ab, -sign(compare_values(b["v"], a["v"])));
                for (const Object& c : docs) {
                    const int bc = sign(compare_values(b["v"], c["v"]));
                    const int ac = sign(compare_values(a["v"], c["v"]));
                    if (ab <= 0 && bc <= 0) {
                        ASSERT_EQ(ac, std::min(ab, bc));
                    }
                }
            }
        }
    }
}

// Documents of millions of elements that are all equal: a comparison can be interrupted.
TEST(Compare, LargeDocumentsAreInterrupted) {
    Builder large;
    for (int i = 0; i < 100'000; ++i)
        large.append_null("");
    const Object doc = large.object();
    sched::Operation operation;
    operation.start();
    operation.kill(operation.id());
    const sched::Operation::Scope scope(&operation);
    EXPECT_THROW(compare_docs(doc, doc), base::Error);
    const sched::Uninterruptible whole;
    EXPECT_EQ(compare_docs(doc, doc), 0);
}

TEST(Builder, NumbersOfAnySizeKeepTheirValue) {
    for (const int64_t number :
         {std::numeric_limits<int64_t>::min(), int64_t{-1} << 40, int64_t{-1} << 30, int64_t{0},
          (int64_t{1} << 40) - 1, std::numeric_limits<int64_t>::max()}) {
        Builder out;
        out.append_number("n", number);
        EXPECT_EQ(out.doc().first().to_int64(), number);
    }
}

}  // namespace
}  // namespace bson
