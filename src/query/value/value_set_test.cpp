#include "query/value/value_set.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "sched/operation.h"

namespace query {
namespace {

class ValueSetTest : public testing::Test {
  protected:
    Value number(int i) { return make_int(arena_, i); }
    Arena arena_;
};

TEST_F(ValueSetTest, HoldsEachEqualValueOnceInTheirOrder) {
    constexpr int kMany = 5000;
    ValueSet set(nullptr);
    EXPECT_FALSE(set.contains(number(0)));
    for (int round = 0; round < 2; ++round) {
        for (int i = kMany; i > 0; --i)
            set.insert(i % 2 == 0 ? number(i) : make_double(arena_, i));
    }
    ASSERT_EQ(set.values().size(), static_cast<size_t>(kMany));
    EXPECT_EQ(set.values()[0].to_int64(), kMany);
    EXPECT_EQ(set.values()[kMany - 1].to_int64(), 1);
    for (int i = 1; i <= kMany; ++i)
        EXPECT_TRUE(set.contains(make_long(arena_, i))) << i;
    EXPECT_EQ(set.position(number(kMany)), 0u);
    EXPECT_EQ(set.position(number(1)), static_cast<size_t>(kMany - 1));
    EXPECT_FALSE(set.contains(number(0)));
    EXPECT_FALSE(set.contains(make_string(arena_, "1")));
}

TEST_F(ValueSetTest, ContainsAllOfAnother) {
    ValueSet some(nullptr), more(nullptr);
    EXPECT_TRUE(some.contains_all(more));
    more.insert(number(1));
    EXPECT_FALSE(some.contains_all(more));
    some.insert(number(2));
    some.insert(number(1));
    EXPECT_TRUE(some.contains_all(more));
    EXPECT_FALSE(more.contains_all(some));
}

TEST_F(ValueSetTest, CanBeInterruptedAtAnySize) {
    sched::Operation operation;
    const sched::Operation::Scope scope(&operation);
    operation.start();
    ValueSet set(nullptr);
    for (int i = 0; i < 100; ++i)
        set.insert(number(i));
    operation.kill(operation.id());
    const auto go_on = [&] {
        for (int i = 100; i < 1000; ++i)
            set.insert(number(i));
    };
    EXPECT_THROW(go_on(), base::Error);
    operation.finish();
    operation.start();
    go_on();
    EXPECT_EQ(set.values().size(), 1000u);
}

}  // namespace
}  // namespace query
