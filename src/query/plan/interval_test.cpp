#include "query/plan/interval.h"

#include <gtest/gtest.h>

#include <random>

#include "bson/compare.h"

namespace query {
namespace {

// Lists over the small integers 0..9, checked against plain membership.
class Lists : public ::testing::Test {
  protected:
    Lists() {
        for (int i = 0; i < 10; ++i)
            values_.push_back(arena_.keep(bson::make("", i)));
    }

    Interval make(int low, bool low_in, int high, bool high_in) {
        return {values_[static_cast<size_t>(low)], values_[static_cast<size_t>(high)], low_in,
                high_in};
    }

    IntervalList random_list(std::mt19937& random) {
        IntervalList list;
        const unsigned n = random() % 4;
        for (unsigned i = 0; i < n; ++i)
            list.push_back(make(static_cast<int>(random() % 10), random() % 2 == 0,
                                static_cast<int>(random() % 10), random() % 2 == 0));
        normalise(list);
        return list;
    }

    static bool contains(const IntervalList& list, const bson::Element& value) {
        for (const Interval& i : list) {
            const int low = bson::compare_values(value, i.low);
            const int high = bson::compare_values(value, i.high);
            if ((low > 0 || (low == 0 && i.low_inclusive)) &&
                (high < 0 || (high == 0 && i.high_inclusive)))
                return true;
        }
        return false;
    }

    // The integers and the halves between them.
    std::vector<bson::Element> probes() {
        std::vector<bson::Element> all;
        for (int i = -1; i < 20; ++i)
            all.push_back(arena_.keep(bson::make("", i * 0.5)));
        return all;
    }

    ValueArena arena_;
    std::vector<bson::Element> values_;
};

TEST_F(Lists, AlgebraAgreesWithMembership) {
    std::mt19937 random(7);
    const auto all = probes();
    for (int round = 0; round < 2000; ++round) {
        const IntervalList a = random_list(random);
        const IntervalList b = random_list(random);
        ValueArena arena;
        const IntervalList both = intersect(a, b, arena);
        IntervalList any = a;
        any.insert(any.end(), b.begin(), b.end());
        normalise(any);
        const IntervalList none = complement(a);
        for (const bson::Element& value : all) {
            const bool in_a = contains(a, value);
            const bool in_b = contains(b, value);
            EXPECT_EQ(contains(both, value), in_a && in_b);
            EXPECT_EQ(contains(any, value), in_a || in_b);
            EXPECT_EQ(contains(none, value), !in_a);
        }
        for (size_t i = 1; i < any.size(); ++i)
            EXPECT_LE(bson::compare_values(any[i - 1].high, any[i].low), 0);
    }
}

TEST_F(Lists, NormaliseDropsEmptyAndJoinsTouching) {
    IntervalList list{make(5, true, 3, true), make(1, true, 2, false), make(2, true, 4, true),
                      make(6, false, 6, true)};
    normalise(list);
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0], make(1, true, 4, true));
}

TEST_F(Lists, OrientReversesOrderAndEnds) {
    IntervalList list{make(1, true, 2, false), make(4, false, 5, true)};
    orient(list, true);
    EXPECT_EQ(list[0].low.as_int32(), 5);
    EXPECT_TRUE(list[0].low_inclusive);
    EXPECT_EQ(list[1].high.as_int32(), 1);
    EXPECT_FALSE(list[1].low_inclusive);
}

TEST(Interval, AllIsNotAllWithoutAnEnd) {
    Interval interval = all_values();
    EXPECT_TRUE(interval.is_all());
    interval.low_inclusive = false;
    EXPECT_FALSE(interval.is_all());
    EXPECT_FALSE((Interval{interval.low, interval.high, true, false}).is_all());
}

TEST(ClassRange, HoldsItsOwnTypeOnly) {
    const KeyConstants& k = key_constants();
    const Interval numbers = class_range(bson::Type::int32);
    EXPECT_EQ(numbers.low.raw(), k.not_a_number.raw());
    EXPECT_LT(bson::compare_values(numbers.high, k.empty_string), 0);
    const Interval strings = class_range(bson::Type::string);
    EXPECT_FALSE(strings.high_inclusive);
    EXPECT_EQ(bson::compare_values(strings.high, k.empty_object), 0);
}

}  // namespace
}  // namespace query
