// A primary makes the member that follows it the primary.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "replica/testing/pair.h"

namespace replica {
namespace {

// A step-down, on the thread of its command.
class StepDownTest : public TailerTest {
  protected:
    // Its code.
    std::future<int> step_down(std::chrono::milliseconds limit) {
        return std::async(std::launch::async, [this, limit] {
            try {
                primary_->member().step_down(limit);
            } catch (const base::Error& error) {
                return error.code();
            }
            return 0;
        });
    }
    void follow_and_report() {
        follower_->step();
        const oplog::Position last = second_->member().last();
        try {
            primary_->member().take_report(second_->member().report({last, last}));
        } catch (const base::Error& error) {
            EXPECT_EQ(error.code(), base::kNotWritablePrimary);  // not the primary any more
        }
    }
    int insert(Node& node, int id) {
        try {
            node.write("db0", [id](catalog::Database& db) {
                db.get_or_create("db0.handed").insert(bson::make("_id", id));
            });
        } catch (const base::Error& error) {
            return error.code();
        }
        return 0;
    }
};

TEST_F(StepDownTest, TheOtherBecomesThePrimaryOnceItHasAll) {
    begin();
    Writes writes(*primary_, 7);
    for (int i = 0; i < 50; ++i)
        writes.one();
    catch_up();
    for (int i = 0; i < 50; ++i)
        writes.one();
    std::future<int> done = step_down(std::chrono::hours(1));
    while (primary_->member().role().is_primary())
        follow_and_report();
    EXPECT_EQ(done.get(), 0);
    expect_equal();
    // Now none is the primary, and neither takes writes.
    EXPECT_EQ(primary_->member().role().state(), State::secondary);
    EXPECT_EQ(insert(*primary_, 1), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(insert(*second_, 1), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(primary_->member().config()->primary().host, kSecond);
    const oplog::Position last = primary_->member().last();
    // It hears of it also when the old one, and it itself, have been started again.
    primary_->start();
    primary_->member().begin_own_term();
    EXPECT_EQ(primary_->member().role().state(), State::secondary);
    restart_second();
    EXPECT_EQ(second_->member().role().state(), State::secondary);
    ask(second_->member(), primary_->member(), kFirst);
    EXPECT_TRUE(second_->member().role().is_primary());
    EXPECT_EQ(second_->member().last().term, last.term + 1);
    EXPECT_EQ(second_->member().config()->version, 2);
    EXPECT_EQ(insert(*second_, 1), 0);
    EXPECT_EQ(insert(*primary_, 2), base::kInterruptedDueToReplStateChange);
}

TEST_F(StepDownTest, WritesGoOnWhereNoMemberHasAll) {
    begin();
    Writes writes(*primary_, 8);
    writes.one();
    catch_up();
    // It has all but what says that it follows now.
    const oplog::Position last = second_->member().last();
    primary_->member().take_report(second_->member().report({last, last}));
    EXPECT_EQ(step_down(std::chrono::milliseconds(1)).get(), base::kExceededTimeLimit);
    EXPECT_TRUE(primary_->member().role().takes_writes());
    EXPECT_EQ(insert(*primary_, 1), 0);
    EXPECT_EQ(primary_->member().config()->version, 1);
    ask(second_->member(), primary_->member(), kFirst);
    catch_up();
    expect_equal();
}

TEST_F(StepDownTest, TakesNoWritesWhileItWaits) {
    begin();
    catch_up();
    std::future<int> done = step_down(std::chrono::hours(1));
    while (primary_->member().role().takes_writes())
        std::this_thread::yield();
    EXPECT_TRUE(primary_->member().role().is_primary());
    EXPECT_EQ(insert(*primary_, 1), base::kInterruptedDueToReplStateChange);
    EXPECT_EQ(step_down(std::chrono::hours(1)).get(), base::kNotWritablePrimary);
    EXPECT_TRUE(primary_->member().primary_host().empty());
    while (primary_->member().role().is_primary())
        follow_and_report();
    EXPECT_EQ(done.get(), 0);
}

// Only the old primary itself says that it is none any more, and what it had.
TEST_F(StepDownTest, OneThatLacksSomethingIsNotMadeThePrimary) {
    begin();
    catch_up();
    bson::Builder answer;
    std::future<int> done = step_down(std::chrono::hours(1));
    while (primary_->member().role().is_primary())
        follow_and_report();
    EXPECT_EQ(done.get(), 0);
    primary_->member().peers().answer(second_->member().peers().question(), answer);
    bson::Builder later;
    for (const bson::Element& e : answer.doc()) {
        if (e.name() == "opTime")
            later.append_timestamp("opTime", e.as_timestamp() + 1);
        else
            later.append(e);
    }
    second_->member().peers().note_answer(kFirst, later.doc(), 1);
    EXPECT_EQ(second_->member().role().state(), State::secondary);
    second_->member().peers().note_answer("other.example:27017", answer.doc(), 1);
    EXPECT_EQ(second_->member().role().state(), State::secondary);
    second_->member().peers().note_answer(kFirst, answer.doc(), 1);
    EXPECT_TRUE(second_->member().role().is_primary());
}

// The other member knows also the writes that it has got by the initial sync, and with a start of
// it in between.
TEST_F(StepDownTest, TheOtherKnowsWhatClientsMaySendAgain) {
    for (const bool starts_again : {false, true}) {
        SCOPED_TRACE(starts_again);
        begin();
        constexpr oplog::SessionKey kSession{{1, 2, 3}, {4, 5, 6}};
        const auto done = [&kSession](Node& node) {
            const auto turn = node.member().retries().begin(kSession, 5);
            const oplog::Done* const found = turn->done(2);
            return found == nullptr ? uint64_t{0} : found->ts;
        };
        {
            const auto turn = primary_->member().retries().begin(kSession, 5);
            const oplog::Statement statement(turn.get(), 2);
            EXPECT_EQ(insert(*primary_, 1), 0);
        }
        EXPECT_EQ(insert(*primary_, 2), 0);
        const uint64_t ts = done(*primary_);
        EXPECT_NE(ts, 0U);
        catch_up();
        if (starts_again) restart_second();
        std::future<int> handed = step_down(std::chrono::hours(1));
        while (primary_->member().role().is_primary())
            follow_and_report();
        EXPECT_EQ(handed.get(), 0);
        ask(second_->member(), primary_->member(), kFirst);
        ASSERT_TRUE(second_->member().role().is_primary());
        EXPECT_EQ(done(*second_), ts);
    }
}

}  // namespace
}  // namespace replica
