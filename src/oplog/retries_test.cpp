// Sessions keep what they have written last: it is found by statement in whatever order it was
// noted, by one request at a time, and within bounds.
#include "oplog/retries.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.h"
#include "base/testing/failure.h"

namespace oplog {
namespace {

using base::failure;

SessionKey key(uint8_t n, uint8_t user = 0) {
    SessionKey out;
    out.id[15] = n;
    out.user[0] = user;
    return out;
}

TEST(Retries, FindsWhatIsDoneInAnyOrder) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        Retries retries;
        std::map<int32_t, char> done;
        const bool from_log = round % 2 == 0;
        auto turn = from_log ? nullptr : retries.begin(key(1), 7);
        for (uint64_t ts = 1; ts < 30; ++ts) {
            const auto statement = static_cast<int32_t>(random() % 20);
            const char op = "iud"[random() % 3];
            if (!done.try_emplace(statement, op).second) continue;
            if (from_log)
                retries.found({key(1), 7, statement}, op, ts);
            else
                turn->note(statement, op, ts);
        }
        if (from_log) turn = retries.begin(key(1), 7);
        for (int32_t statement = -1; statement < 21; ++statement) {
            const Done* const found = turn->done(statement);
            ASSERT_EQ(found != nullptr, done.contains(statement)) << statement;
            if (found != nullptr) {
                EXPECT_EQ(found->op, done.at(statement));
            }
        }
    }
}

TEST(Retries, KeepABatchAsOneRange) {
    Retries retries;
    const auto turn = retries.begin(key(1), 1);
    for (int32_t statement = 0; statement < 100'000; ++statement)
        turn->note(statement, 'i', 10 + static_cast<uint64_t>(statement));
    ASSERT_EQ(turn->all_done().size(), 1u);
    EXPECT_EQ(turn->done(70'000)->ts, 10u);
    turn->note(100'000, 'u', 1'000'000);
    // An entry that is older than those before it is not found behind them.
    turn->note(100'001, 'u', 5);
    EXPECT_EQ(turn->all_done().size(), 3u);
}

TEST(Retries, GiveOneRequestOfASessionTheTurn) {
    Retries retries;
    auto turn = retries.begin(key(1), 5);
    turn->note(0, 'i', 1);
    EXPECT_EQ(retries.begin(key(1), 5), nullptr);
    EXPECT_EQ(retries.begin(key(1), 4), nullptr);
    EXPECT_NE(retries.begin(key(2), 1), nullptr);
    EXPECT_NE(retries.begin(key(1, 1), 1), nullptr) << "of another user";
    retries.forget(key(1));
    retries.expire(Retries::Clock::time_point::max());
    turn = nullptr;
    EXPECT_EQ(failure([&] { retries.begin(key(1), 4); }), base::kTransactionTooOld);
    turn = retries.begin(key(1), 5);
    EXPECT_NE(turn->answered(0), nullptr);
    EXPECT_EQ(turn->answered(1), nullptr);
    turn = nullptr;
    turn = retries.begin(key(1), 6);
    EXPECT_EQ(turn->done(0), nullptr);
    EXPECT_EQ(retries.retried_commands(), 1);
}

// The last write of a primary that has stepped down ends late: the entries that its successor
// wrote during it are waiting.
TEST(Retries, FindWhatASessionDidElsewhereWhileItWroteHere) {
    Retries retries;
    auto turn = retries.begin(key(1), 7);
    turn->note(0, 'i', 10);
    retries.found({key(1), 7, 1}, 'u', 11);
    retries.found({key(2), 3, 0}, 'd', 12);
    EXPECT_EQ(turn->done(1), nullptr);
    turn = nullptr;
    turn = retries.begin(key(1), 7);
    EXPECT_EQ(turn->done(0)->op, 'i');
    EXPECT_EQ(turn->done(1)->op, 'u');
    retries.found({key(1), 8, 4}, 'd', 13);
    turn = nullptr;
    EXPECT_EQ(failure([&] { retries.begin(key(1), 7); }), base::kTransactionTooOld);
    turn = retries.begin(key(1), 8);
    EXPECT_EQ(turn->done(0), nullptr);
    EXPECT_EQ(turn->done(4)->op, 'd');
    EXPECT_NE(retries.begin(key(2), 3)->done(0), nullptr);
}

TEST(Retries, AreKeptForATime) {
    Retries retries;
    retries.begin(key(1), 1);
    retries.begin(key(2), 1);
    retries.forget(key(2));
    const auto now = Retries::Clock::now();
    retries.expire(now + std::chrono::minutes(29));
    EXPECT_EQ(retries.sessions(), 1u);
    retries.expire(now + std::chrono::minutes(31));
    EXPECT_EQ(retries.sessions(), 0u);
}

// The oldest sessions of the user who has most are forgotten.
TEST(Retries, ForgetTheOldestWhereThereAreTooMany) {
    Retries retries(80);
    retries.begin(key(1, 1), 1)->note(0, 'i', 1);
    for (uint8_t n = 0; n < 200; ++n)
        retries.begin(key(n), 1)->note(0, 'i', 1);
    EXPECT_LE(retries.sessions(), 41u);
    EXPECT_GE(retries.sessions(), 30u);
    EXPECT_NE(retries.begin(key(1, 1), 1)->done(0), nullptr);
    EXPECT_NE(retries.begin(key(199), 1)->done(0), nullptr);
    EXPECT_EQ(retries.begin(key(0), 1)->done(0), nullptr);
    for (uint8_t n = 0; n < 200; ++n)
        retries.found({key(n, 2), 1, 0}, 'i', n);
    EXPECT_LE(retries.sessions(), 41u);
    retries.clear();
    EXPECT_EQ(retries.sessions(), 0u);
}

}  // namespace
}  // namespace oplog
