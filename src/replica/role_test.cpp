// The table of transitions: what may follow, and what a member tells of a state.
#include "replica/role.h"

#include <gtest/gtest.h>

#include "base/dcheck.h"

namespace replica {
namespace {

TEST(Role, AFollowerMovesBetweenItsThreeStates) {
    Role role;
    EXPECT_EQ(role.state(), State::startup);
    EXPECT_TRUE(role.enter(State::startup2));
    EXPECT_FALSE(role.enter(State::startup2));
    EXPECT_TRUE(role.enter(State::secondary));
    EXPECT_TRUE(role.enter(State::recovering));
    EXPECT_TRUE(role.follows());
    EXPECT_TRUE(role.enter(State::secondary));
}

TEST(Role, APrimaryThatStepsDownTakesNoWrites) {
    Role role;
    EXPECT_FALSE(role.takes_writes());
    role.enter(State::primary);
    EXPECT_TRUE(role.takes_writes());
    role.set_stepping_down(true);
    EXPECT_TRUE(role.is_primary());
    EXPECT_FALSE(role.takes_writes());
    role.set_stepping_down(false);
    EXPECT_TRUE(role.takes_writes());
    EXPECT_FALSE(role.follows());
}

TEST(Role, WhatWasRemovedComesBackByAnotherConfiguration) {
    for (const State next : {State::primary, State::secondary, State::startup2}) {
        Role role;
        role.enter(State::removed);
        EXPECT_TRUE(role.enter(next)) << name_of(next);
    }
}

TEST(RoleDeathTest, AStateThatTheTableDoesNotHaveEndsACheckedBuild) {
    if (!base::kDebugChecks) GTEST_SKIP() << "needs the checks";
    Role role;
    role.enter(State::primary);
    EXPECT_DEATH(role.enter(State::recovering), "");
    EXPECT_DEATH(role.enter(State::down), "");
}

}  // namespace
}  // namespace replica
