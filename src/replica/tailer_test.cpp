// A member that follows a primary which the test plays.
#include "replica/tailer.h"

#include <gtest/gtest.h>

#include "base/testing/effort.h"
#include "replica/initial_sync.h"
#include "replica/testing/pair.h"

namespace replica {
namespace {

TEST_F(TailerTest, CopiesThenFollows) {
    begin();
    Writes writes(*primary_, 1);
    for (int i = 0; i < 200; ++i)
        writes.one();
    EXPECT_EQ(second_->member().role().state(), State::startup2);
    EXPECT_TRUE(follower_->step());
    expect_equal();
    EXPECT_EQ(second_->member().following().syncing_to(), kFirst);
    for (int i = 0; i < 200; ++i)
        writes.one();
    catch_up();
    expect_equal();
    EXPECT_EQ(script_.copies, 1);
    EXPECT_GT(second_->member().following().counts().entries.load(), 0);
    // The whole log is of the last minutes.
    EXPECT_EQ(second_->entries().size(), primary_->entries().size());
}

TEST_F(TailerTest, CopiesWhatIsBeingWritten) {
    for (int seed = 1; seed <= base::test_effort(60); ++seed) {
        SCOPED_TRACE(seed);
        begin();
        script_ = {};
        Writes writes(*primary_, static_cast<uint32_t>(seed));
        for (int i = 0; i < 40; ++i)
            writes.one();
        int left = 150;
        script_.before_each = [&] {
            for (int i = 0; i < 2 && left > 0; ++i, --left)
                writes.one();
        };
        catch_up();
        expect_equal();
        // Whatever was renamed, replaced or changed: the copy goes on behind it.
        EXPECT_EQ(script_.copies, 1);
    }
}

// Names and options change all the time.
TEST_F(TailerTest, ACopyEndsWhileCollectionsAreRenamed) {
    for (uint32_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        begin();
        script_ = {};
        Writes writes(*primary_, seed);
        for (int i = 0; i < 60; ++i)
            writes.one();
        script_.before_each = [&] {
            if (script_.calls % 10 == 0) writes.change_names();
        };
        ASSERT_TRUE(follower_->step());
        EXPECT_EQ(script_.copies, 1);
        script_.before_each = [] {};
        catch_up();
        expect_equal();
    }
}

// The documents take their time to be stored, while names may change again and again.
TEST_F(TailerTest, WhatIsRenamedWhileItsDocumentsAreStoredIsNotReadAgain) {
    begin();
    script_ = {};
    primary_->write("test", [](catalog::Database& db) {
        for (const int id : {1, 2})
            db.get_or_create("test.before").insert(bson::make("_id", id));
    });
    script_.after_visit = [&](std::string_view ns) {
        if (ns == "test.before")
            primary_->run(
                "admin",
                bson::from_json(R"({"renameCollection": "test.before", "to": "test.later"})"));
    };
    catch_up();
    expect_equal();
    EXPECT_EQ(script_.reads["test.before"], 1);
    EXPECT_EQ(script_.reads["test.later"], 0);
}

// The member has at every moment what the primary was at that position.
TEST_F(TailerTest, IsAlwaysAPrefixOfThePrimary) {
    for (uint32_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        begin();
        script_ = {};
        Writes writes(*primary_, seed);
        std::map<oplog::Position, Contents> history;
        const auto note = [&] { history[primary_->member().last()] = primary_->contents(); };
        note();
        int left = 150;
        script_.before_each = [&] {
            if (left-- <= 0) return;
            writes.one();
            note();
        };
        int compared = 0;
        while (second_->member().last() != primary_->member().last() || left > 0) {
            follower_->step();
            const auto then = history.find(second_->member().last());
            if (second_->member().role().state() != State::secondary || then == history.end())
                continue;
            ++compared;
            ASSERT_EQ(second_->contents(), then->second);
        }
        EXPECT_GT(compared, 10);
        expect_equal();
    }
}

// Whatever call to the primary fails, and with the copy begun anew by another start.
TEST_F(TailerTest, BeginsACopyAnewThatWasCutShort) {
    for (int fails_at = 1;; ++fails_at) {
        SCOPED_TRACE(fails_at);
        begin();
        script_ = {};
        Writes writes(*primary_, 3);
        for (int i = 0; i < 60; ++i)
            writes.one();
        bool failed = false;
        script_.before_each = [&] {
            if (script_.calls != fails_at) return;
            failed = true;
            base::fail(base::kHostUnreachable, "as the test wants it");
        };
        follower_->step();
        if (!failed) break;
        ASSERT_LT(fails_at, 1000);
        EXPECT_NE(second_->member().role().state(), State::secondary);
        EXPECT_NE(second_->member().following().message().find("as the test wants it"),
                  std::string::npos);
        writes.one();
        const bool has_copy = [this] {
            const storage::DatabaseLock lock(second_->catalog().engine().locks(), "local", false);
            return second_->member().last().ts != 0 &&
                   !InitialSync::is_under_way(second_->catalog());
        }();
        restart_second();
        EXPECT_EQ(second_->member().role().state(), has_copy ? State::secondary : State::startup2);
        catch_up();
        expect_equal();
    }
}

// What was read before and after that may be of two histories.
TEST_F(TailerTest, BeginsACopyAnewWhoseSourceTookEntriesBack) {
    begin();
    Writes writes(*primary_, 4);
    for (int i = 0; i < 60; ++i)
        writes.one();
    script_.after_visit = [this](std::string_view) { script_.rollbacks = 1; };
    EXPECT_FALSE(follower_->step());
    EXPECT_EQ(second_->member().role().state(), State::startup2);
    catch_up();
    EXPECT_EQ(script_.copies, 2);
    expect_equal();
}

TEST_F(TailerTest, GoesOnWhereItWasAfterAStart) {
    begin();
    Writes writes(*primary_, 4);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 30; ++i)
            writes.one();
        restart_second();
        catch_up();
        expect_equal();
    }
    EXPECT_EQ(script_.copies, 1);
    // A member with data is a secondary at once, also while the primary is away.
    script_.before_each = [] { base::fail(base::kHostUnreachable, "as the test wants it"); };
    restart_second();
    follower_->step();
    EXPECT_EQ(second_->member().role().state(), State::secondary);
}

TEST_F(TailerTest, StaysBehindWhereItIsTooStale) {
    begin(64 << 10);
    Writes writes(*primary_, 5);
    writes.one();
    catch_up();
    for (int i = 0; i < 2000; ++i)
        writes.one();
    restart_second();
    const Contents before = second_->contents();
    EXPECT_FALSE(follower_->step());
    EXPECT_EQ(second_->member().role().state(), State::recovering);
    EXPECT_NE(second_->member().following().message().find("error RS102 too stale"),
              std::string::npos);
    EXPECT_EQ(second_->contents(), before);
    EXPECT_EQ(script_.copies, 1);
}

// The next entry alone needs more than half of the log: it overwrites all that were there.
TEST_F(TailerTest, GoesOnBehindAnEntryThatHasOverwrittenItsLast) {
    begin(64 << 10);
    Writes writes(*primary_, 9);
    writes.one();
    catch_up();
    const auto insert_large = [this](int id) {
        primary_->write("db0", [id](catalog::Database& db) {
            db.get_or_create("db0.large")
                .insert(bson::make("_id", id, "pad", std::string(40 << 10, 'x')));
        });
    };
    insert_large(0);
    catch_up();
    for (int id = 1; id < 3; ++id) {
        insert_large(id);
        ASSERT_EQ(primary_->entries().size(), 1U);
        restart_second();
        EXPECT_TRUE(follower_->step());
        expect_equal();
    }
    // The log has lost one of two entries.
    insert_large(3);
    insert_large(4);
    restart_second();
    EXPECT_FALSE(follower_->step());
    EXPECT_EQ(second_->member().role().state(), State::recovering);
    EXPECT_NE(second_->member().following().message().find("error RS102 too stale"),
              std::string::npos);
}

TEST_F(TailerTest, StaysBehindWhereTheHistoriesHaveParted) {
    begin();
    Writes writes(*primary_, 6);
    writes.one();
    catch_up();
    // The second one is made the primary and writes; then the first one is brought back.
    second_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 2, "members": [
                            {"_id": 0, "host": "here.example:27017", "priority": 0},
                            {"_id": 1, "host": "here.example:27018"}]})"),
                                  true);
    EXPECT_FALSE(follower_->step());
    second_->write("db0", [](catalog::Database& db) {
        db.get_or_create("db0.c0").insert(bson::make("_id", 77));
    });
    for (int i = 0; i < 5; ++i)
        writes.one();
    primary_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 300000, "members": [
                            {"_id": 0, "host": "here.example:27017"},
                            {"_id": 1, "host": "here.example:27018", "priority": 0}]})"),
                                   true);
    ask(second_->member(), primary_->member(), kFirst);
    EXPECT_TRUE(second_->member().role().follows());
    const Contents before = second_->contents();
    EXPECT_FALSE(follower_->step());
    EXPECT_EQ(second_->member().role().state(), State::recovering);
    EXPECT_NE(second_->member().following().message().find("histories have parted"),
              std::string::npos);
    EXPECT_EQ(second_->contents(), before);
}

// A call to a primary that is cut off may take its whole time.
TEST_F(TailerTest, LeavesASourceThatIsThePrimaryNoMore) {
    begin();
    const peer::Interrupt* end = nullptr;
    follower_ = std::make_unique<Tailer>(
        second_->catalog(), second_->member(),
        [this](std::string_view db, bson::Doc command) { second_->run(db, command); },
        [&](const std::string&, const peer::Interrupt& interrupt) {
            end = &interrupt;
            return std::make_unique<PlayedSyncSource>(*primary_, script_);
        });
    catch_up();
    ASSERT_NE(end, nullptr);
    EXPECT_FALSE(end->is_set());
    second_->member().peers().note_no_answer(kFirst, "cut off");
    second_->member().reconfigure(bson::from_json(R"({"_id": "rs0", "version": 2, "members": [
                                      {"_id": 0, "host": "here.example:27017", "priority": 0},
                                      {"_id": 1, "host": "here.example:27018"}]})"),
                                  true);
    EXPECT_TRUE(end->is_set());
    EXPECT_FALSE(follower_->step()) << "it is the primary";
}

TEST_F(TailerTest, LeavesItsSourceWhenItStops) {
    begin();
    catch_up();
    const auto end = second_->member().following().source_end();
    EXPECT_FALSE(end->is_set());
    follower_->stop();
    EXPECT_TRUE(end->is_set());
    EXPECT_FALSE(follower_->step());
}

}  // namespace
}  // namespace replica
