#include "base/dcheck.h"

#include <gtest/gtest.h>

#include "base/testing/failed_check.h"

namespace base {
namespace {

TEST(Dcheck, AFailureNamesTheConditionAndThePlace) {
    if (!kDebugChecks) GTEST_SKIP() << "compiled out";
    const int held = 1;
    const std::string text = failed_check([&] { DCHECK(held == 2); });
    EXPECT_NE(text.find("held == 2"), std::string::npos) << text;
    EXPECT_NE(text.find("base/dcheck_test.cpp:"), std::string::npos) << text;
}

TEST(Dcheck, WhatHoldsPasses) {
    EXPECT_EQ(failed_check([] { DCHECK(1 + 1 == 2); }), "");
}

TEST(Dcheck, TheConditionIsEvaluatedOnlyWhereItIsChecked) {
    int evaluated = 0;
    DCHECK(++evaluated == 1);
    EXPECT_EQ(evaluated, kDebugChecks ? 1 : 0);
}

}  // namespace
}  // namespace base
