#include "sched/work_limit.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "sched/operation.h"

namespace sched {
namespace {

class WorkLimitTest : public testing::Test {
  protected:
    static constexpr int64_t kLimit = 10'000;

    WorkLimitTest() : own_(&operation_) {
        operation_.start();
        WorkLimit::set_limit(kLimit);
    }
    ~WorkLimitTest() override { WorkLimit::set_limit(WorkLimit::kDefaultTicks); }

    static void work(int64_t ticks) {
        for (int64_t i = 0; i < ticks; ++i)
            tick();
    }
    static int code_of_work(int64_t ticks) {
        try {
            work(ticks);
            return 0;
        } catch (const base::Error& error) {
            return error.code();
        }
    }

    Operation operation_;
    const Operation::Scope own_;
};

TEST_F(WorkLimitTest, EndsAPieceOfWorkAndNoOther) {
    EXPECT_EQ(code_of_work(10 * kLimit), 0);
    for (int i = 0; i < 10; ++i) {
        const WorkLimit limit("a piece");
        EXPECT_EQ(code_of_work(kLimit - 100), 0);
    }
    {
        const WorkLimit limit("a piece");
        EXPECT_EQ(code_of_work(kLimit + 100), base::kWorkLimitExceeded);
    }
    EXPECT_EQ(code_of_work(10 * kLimit), 0);
}

TEST_F(WorkLimitTest, SaysWhatIsTooMuchAndWhatToDo) {
    const WorkLimit limit("the match of one document");
    try {
        work(2 * kLimit);
        ADD_FAILURE() << "it goes on";
    } catch (const base::Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("the match of one document takes more than 10000 ticks"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("documentWorkTicks"), std::string::npos) << text;
    }
}

TEST_F(WorkLimitTest, APartCountsAsTheWhole) {
    const WorkLimit limit("the whole");
    EXPECT_EQ(code_of_work(kLimit / 2), 0);
    {
        const WorkLimit part("a part");
        EXPECT_EQ(code_of_work(kLimit), base::kWorkLimitExceeded);
    }
    EXPECT_EQ(code_of_work(100), base::kWorkLimitExceeded);
}

TEST_F(WorkLimitTest, WhatMayNotEndCountsAndGoesOn) {
    const WorkLimit limit("a write");
    {
        const Uninterruptible whole;
        EXPECT_EQ(code_of_work(2 * kLimit), 0);
        const MayEnd no_change_yet;
        EXPECT_EQ(code_of_work(100), base::kWorkLimitExceeded);
    }
}

TEST_F(WorkLimitTest, WorkThatIsKnownAheadDoesNotBegin) {
    const WorkLimit limit("a write");
    WorkLimit::check(kLimit - 100);
    EXPECT_THROW(WorkLimit::check(kLimit + 100), base::Error);
}

TEST_F(WorkLimitTest, WorkOfNoOperationHasNone) {
    const WorkLimit limit("a write");
    const Operation::Scope detached(nullptr);
    EXPECT_EQ(code_of_work(10 * kLimit), 0);
}

}  // namespace
}  // namespace sched
