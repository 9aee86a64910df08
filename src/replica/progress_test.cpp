// Progress knows which entry is in how many members, and tells those who wait for one.
#include "replica/progress.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"

namespace replica {
namespace {

constexpr uint64_t kSecond = uint64_t{1} << 32;

oplog::Position at(uint64_t ts, int64_t term = 1) {
    return {term, kSecond + ts};
}

class ProgressTest : public testing::Test {
  protected:
    ProgressTest() { configure(kFour); }

    // Two places with two members each; the last one has no vote.
    static constexpr const char* kFour = R"({"_id": "s", "members": [
        {"_id": 0, "host": "a", "tags": {"dc": "east", "rack": "1"}},
        {"_id": 1, "host": "b", "priority": 0, "tags": {"dc": "east", "rack": "2"}},
        {"_id": 2, "host": "c", "priority": 0, "hidden": true, "tags": {"dc": "west"}},
        {"_id": 3, "host": "d", "priority": 0, "votes": 0, "tags": {"dc": "west"}}],
        "settings": {"getLastErrorModes": {"both": {"dc": 2}, "racks": {"rack": 2},
                                           "here": {"dc": 1}, "all": {"dc": 2, "rack": 2},
                                           "three": {"dc": 3}}}})";

    void configure(const char* json) {
        config_ =
            std::make_shared<const Config>(Config::parse(bson::from_json(json), {.set_name = "s"}));
        progress_.configure(config_);
    }
    void reports(const char* host, oplog::Position applied, oplog::Position durable = {},
                 uint8_t run = 1) {
        bson::ObjectId since;
        since.bytes[0] = run;
        EXPECT_TRUE(progress_.report(host, since, {applied, durable}));
    }
    Progress::Handle wait(oplog::Position position, const Need& need) {
        return progress_.wait(position, need, [this] { ++wakes_; });
    }
    // Whether the need is satisfied for that entry.
    bool has(oplog::Position position, const Need& need) {
        const Progress::Handle waiter = wait(position, need);
        const bool found = waiter->outcome() == 0;
        progress_.give_up(waiter, position, need);
        return found;
    }
    static Need members(int count, bool durable = false) { return {count, "", durable}; }
    static Need mode(const char* name, bool durable = false) { return {1, name, durable}; }

    Progress progress_;
    std::shared_ptr<const Config> config_;
    int wakes_ = 0;
};

TEST_F(ProgressTest, CountsMembersWithThePrimary) {
    EXPECT_TRUE(has(at(5), members(1)));
    EXPECT_FALSE(has(at(5), members(2)));
    reports("d:27017", at(5));
    EXPECT_TRUE(has(at(5), members(2))) << "without a vote";
    EXPECT_FALSE(has(at(6), members(2)));
    EXPECT_FALSE(has(at(5), members(3)));
    reports("c:27017", at(4));
    EXPECT_TRUE(has(at(4), members(3))) << "hidden";
    EXPECT_FALSE(has(at(5), members(3)));
    EXPECT_FALSE(has(at(1), members(4)));
    EXPECT_FALSE(has(at(1), members(5)));
}

TEST_F(ProgressTest, AMajorityIsOneOfVotes) {
    reports("d:27017", at(9));
    EXPECT_FALSE(has(at(1), mode("majority")));
    reports("b:27017", at(3));
    EXPECT_TRUE(has(at(3), mode("majority")));
    EXPECT_FALSE(has(at(4), mode("majority")));
}

TEST_F(ProgressTest, ModesCountValuesOfTags) {
    EXPECT_TRUE(has(at(9), mode("here")));
    reports("b:27017", at(9));
    EXPECT_FALSE(has(at(1), mode("both"))) << "the same place";
    EXPECT_TRUE(has(at(9), mode("racks")));
    EXPECT_FALSE(has(at(1), mode("all")));
    reports("c:27017", at(2));
    reports("d:27017", at(7));
    EXPECT_TRUE(has(at(7), mode("both"))) << "the better one of a place";
    EXPECT_FALSE(has(at(8), mode("both")));
    EXPECT_TRUE(has(at(7), mode("all")));
    EXPECT_FALSE(has(at(1), mode("unknown")));
}

TEST_F(ProgressTest, DurableIsWhatIsInTheJournals) {
    reports("b:27017", at(9), at(4));
    EXPECT_FALSE(has(at(4), members(2, true))) << "this server's is not heard of";
    progress_.own_durable(at(3));
    EXPECT_TRUE(has(at(3), members(2, true)));
    EXPECT_TRUE(has(at(3), mode("majority", true)));
    EXPECT_FALSE(has(at(4), members(2, true)));
    progress_.own_durable(at(9));
    EXPECT_TRUE(has(at(4), members(2, true)));
    EXPECT_FALSE(has(at(5), members(2, true)));
    EXPECT_TRUE(has(at(9), members(2)));
    // A write concern that this server alone can satisfy.
    EXPECT_TRUE(has(at(9), members(1, true)));
    EXPECT_FALSE(has(at(10), members(1, true)));
    progress_.own_durable(at(2));
    EXPECT_TRUE(has(at(9), members(1, true))) << "it goes back never";
    EXPECT_FALSE(has(at(1), mode("both", true)));
    reports("c:27017", at(9), at(9));
    EXPECT_TRUE(has(at(9), mode("both", true)));
}

TEST_F(ProgressTest, WhatTheJournalsOfAMajorityHaveIsCommitted) {
    progress_.own_durable(at(9));
    reports("b:27017", at(9), at(4));
    EXPECT_EQ(progress_.committed(), at(4));
    int wakes = 0;
    EXPECT_EQ(progress_.watch_committed(at(3), [] {}), nullptr) << "more is known";
    std::shared_ptr<void> watch = progress_.watch_committed(at(4), [&] { ++wakes; });
    std::shared_ptr<void> ended = progress_.watch_committed(at(4), [] { ADD_FAILURE(); });
    ended = nullptr;
    reports("c:27017", at(5), {});
    EXPECT_EQ(wakes, 0);
    reports("c:27017", at(5), at(5));
    EXPECT_EQ(wakes, 1);
    reports("c:27017", at(6), at(6));
    EXPECT_EQ(wakes, 1) << "once";
    // What another member says counts, and nothing goes back.
    progress_.end_all(base::kPrimarySteppedDown);
    EXPECT_EQ(progress_.committed(), at(6));
    EXPECT_FALSE(has(at(7), mode("majority", true)));
    progress_.note_committed(at(8));
    progress_.note_committed(at(7));
    EXPECT_EQ(progress_.committed(), at(8));
    EXPECT_TRUE(has(at(8), mode("majority", true)));
    EXPECT_FALSE(has(at(8), mode("majority"))) << "of what is not in journals nothing is known";
}

TEST_F(ProgressTest, NothingIsCommittedBeforeTheFirstEntryOfTheTerm) {
    progress_.begin_term(at(5, 2));
    progress_.own_durable(at(5, 2));
    reports("b:27017", at(9), at(9));
    EXPECT_EQ(progress_.committed(), oplog::Position());
    reports("b:27017", at(5, 2), at(5, 2));
    EXPECT_EQ(progress_.committed(), at(5, 2));
}

TEST_F(ProgressTest, WakesThoseWhoHaveWhatTheyWaitFor) {
    const auto first = wait(at(3), members(2));
    const auto second = wait(at(5), members(2));
    const auto third = wait(at(3), members(3));
    const auto journal = wait(at(3), members(1, true));
    EXPECT_TRUE(progress_.is_awaited());
    reports("b:27017", at(2));
    EXPECT_EQ(wakes_, 0);
    reports("b:27017", at(4));
    EXPECT_EQ(wakes_, 1);
    EXPECT_EQ(first->outcome(), 0);
    EXPECT_EQ(second->outcome(), Progress::kWaiting);
    reports("c:27017", at(9));
    EXPECT_EQ(wakes_, 3);
    EXPECT_EQ(second->outcome(), 0);
    EXPECT_EQ(third->outcome(), 0);
    EXPECT_FALSE(progress_.is_awaited()) << "a reader of the log does not count";
    progress_.own_durable(at(3));
    EXPECT_EQ(wakes_, 4);
    EXPECT_EQ(journal->outcome(), 0);
    progress_.give_up(first, at(3), members(2));
}

TEST_F(ProgressTest, WhoGivesUpIsNotWoken) {
    const auto waiter = wait(at(3), members(2));
    const auto other = wait(at(3), members(2));
    progress_.give_up(waiter, at(3), members(2));
    EXPECT_TRUE(progress_.is_awaited());
    reports("b:27017", at(4));
    EXPECT_EQ(wakes_, 1);
    EXPECT_EQ(waiter->outcome(), Progress::kWaiting);
    EXPECT_EQ(other->outcome(), 0);
    EXPECT_FALSE(progress_.is_awaited());
}

TEST_F(ProgressTest, AReportGoesBackOnlyWhereAMemberBeganAnew) {
    reports("b:27017", at(5), at(4));
    reports("b:27017", at(4), at(5));
    EXPECT_EQ(progress_.reached_by("b:27017").applied, at(5));
    EXPECT_EQ(progress_.reached_by("b:27017").durable, at(5));
    // It was killed, and lacks what its journal had not.
    reports("b:27017", at(3), at(3), 2);
    EXPECT_FALSE(has(at(4), members(2)));
    EXPECT_TRUE(has(at(3), members(2)));
}

TEST_F(ProgressTest, ALaterTermIsLaterWhateverTheClocksSaid) {
    reports("b:27017", at(3, 2));
    EXPECT_TRUE(has(at(9, 1), members(2)));
    EXPECT_FALSE(has(at(4, 2), members(2)));
}

TEST_F(ProgressTest, OnlyMembersReport) {
    bson::ObjectId since;
    EXPECT_FALSE(progress_.report("e:27017", since, {at(5), at(5)}));
    progress_.configure(nullptr);
    EXPECT_FALSE(progress_.report("b:27017", since, {at(5), at(5)}));
    EXPECT_FALSE(has(at(1), members(2)));
}

TEST_F(ProgressTest, ANewConfigurationChangesWhatIsWaitedFor) {
    const auto two = wait(at(3), members(2));
    const auto four = wait(at(3), members(4));
    const auto both = wait(at(3), mode("both"));
    const auto racks = wait(at(3), mode("racks"));
    const auto majority = wait(at(3), mode("majority"));
    reports("c:27017", at(1));
    configure(R"({"_id": "s", "members": [
        {"_id": 0, "host": "a", "tags": {"dc": "east"}},
        {"_id": 1, "host": "b", "priority": 0, "votes": 0, "tags": {"dc": "east"}}],
        "settings": {"getLastErrorModes": {"both": {"dc": 2}}}})");
    EXPECT_EQ(two->outcome(), Progress::kWaiting);
    EXPECT_EQ(four->outcome(), base::kUnsatisfiableWriteConcern);
    EXPECT_EQ(both->outcome(), base::kUnsatisfiableWriteConcern);
    EXPECT_EQ(racks->outcome(), base::kUnknownReplWriteConcern);
    EXPECT_EQ(majority->outcome(), 0) << "the primary has the only vote";
    EXPECT_EQ(wakes_, 4);
    EXPECT_EQ(progress_.reached_by("c:27017").applied, oplog::Position());
    progress_.end_all(base::kPrimarySteppedDown);
    EXPECT_EQ(two->outcome(), base::kPrimarySteppedDown);
    EXPECT_FALSE(progress_.is_awaited());
}

TEST_F(ProgressTest, TellsWhoHasAnEntry) {
    reports("b:27017", at(5));
    reports("c:27017", at(3));
    const auto hosts = [this](oplog::Position position) {
        std::string all;
        for (const bson::Object& each : progress_.members_with(position))
            all += std::string(each["host"].as_string()) + " ";
        return all;
    };
    EXPECT_EQ(hosts(at(4)), "a:27017 b:27017 ");
    EXPECT_EQ(hosts(at(3)), "a:27017 b:27017 c:27017 ");
    EXPECT_EQ(hosts(at(6)), "a:27017 ");
}

TEST_F(ProgressTest, SaysWhatNoMembersCanDo) {
    const auto refusal = [this](const Need& need) {
        const auto error = need.refusal_by(*config_);
        return error ? error->code() : 0;
    };
    EXPECT_EQ(refusal(members(4)), 0);
    EXPECT_EQ(refusal(members(5)), base::kUnsatisfiableWriteConcern);
    EXPECT_EQ(refusal(mode("all")), 0);
    EXPECT_EQ(refusal(mode("three")), base::kUnsatisfiableWriteConcern);
    EXPECT_EQ(refusal(mode("elsewhere")), base::kUnknownReplWriteConcern);
    EXPECT_EQ(refusal(mode("majority")), 0);
    EXPECT_TRUE(members(1, true).is_met_by_primary(*config_));
    EXPECT_TRUE(mode("here").is_met_by_primary(*config_));
    for (const Need& need : {members(2), mode("majority"), mode("both"), mode("elsewhere")})
        EXPECT_FALSE(need.is_met_by_primary(*config_)) << need.mode;
}

}  // namespace
}  // namespace replica
