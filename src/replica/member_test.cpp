// A member over an engine in memory: what it keeps, what a start makes of that.
#include "replica/member.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "base/testing/muted.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "replica/own_host.h"
#include "storage/contract/memory_engine.h"

namespace replica {
namespace {

class MemberTest : public testing::Test {
  protected:
    MemberTest() { start(); }

    void start(const std::string& own_host = "here.example:27017", const char* set = "rs0") {
        member_ = nullptr;
        catalog_ = std::make_unique<catalog::Catalog>(engine_);
        log_ = std::make_unique<oplog::Log>(engine_, *catalog_, oplog::Form::replica_set);
        member_ = std::make_unique<Member>(engine_, *catalog_, *log_,
                                           Member::Options{.set_name = set,
                                                           .own_name = "here.example",
                                                           .own_host = own_host,
                                                           .port = 27017,
                                                           .log_bytes = 1 << 20,
                                                           .answers_limit = {}});
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
        member_->open();
    }
    int initiate(const char* json = "{}") {
        return failure([&] { member_->initiate(bson::from_json(json)); });
    }
    int reconfigure(const char* json, bool force = false) {
        return failure([&] { member_->reconfigure(bson::from_json(json), force); });
    }
    template <typename Action>
    static int failure(Action&& action) {
        try {
            action();
        } catch (const base::Error& e) {
            return e.code();
        }
        return 0;
    }
    std::vector<std::string> notes() {
        std::vector<std::string> found;
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::R);
        catalog::Collection* const ring = catalog_->collection(oplog::kSetLog);
        if (ring == nullptr) return found;
        const auto cursor = ring->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            found.push_back(
                fmt::format("{} {}", record->doc["t"].to_int64(), bson::to_text(record->doc["o"])));
        return found;
    }
    int64_t stored_configs() {
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::R);
        catalog::Collection* const configs = catalog_->collection(kConfigs);
        return configs == nullptr ? 0 : configs->records().count();
    }

    const base::MutedLog muted_;
    storage::contract::MemoryEngine engine_{false};
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<oplog::Log> log_;
    std::unique_ptr<Member> member_;
};

TEST_F(MemberTest, WaitsUntilItIsInitiated) {
    EXPECT_EQ(member_->role().state(), State::startup);
    EXPECT_EQ(member_->config(), nullptr);
    EXPECT_EQ(failure([this] { member_->needed_config(); }), base::kNotYetInitialized);
    EXPECT_EQ(reconfigure(R"({"_id": "rs0"})", true), base::kNotYetInitialized);
    EXPECT_EQ(initiate(), 0);
    EXPECT_TRUE(member_->role().is_primary());
    EXPECT_EQ(member_->config()->own().host, "here.example:27017");
    EXPECT_EQ(member_->last().term, 1);
    EXPECT_EQ(member_->election_ts(), member_->last().ts);
    EXPECT_EQ(initiate(), base::kAlreadyInitialized);
    EXPECT_EQ(notes(), std::vector<std::string>{"1 { msg: \"initiating set\" }"});
}

// Launchers of sets wait for these words.
TEST_F(MemberTest, SaysWhenAPrimaryTakesWrites) {
    int said = 0;
    base::log::set_sink([&said](base::log::Severity, std::string_view line) {
        said += line.find("transition to primary complete; database writes are now permitted") !=
                std::string_view::npos;
    });
    start();
    EXPECT_EQ(said, 0);
    EXPECT_EQ(initiate(), 0);
    EXPECT_EQ(said, 1);
    start();
    EXPECT_EQ(said, 2);
    base::log::set_sink(nullptr);
}

TEST_F(MemberTest, EachStartBeginsATerm) {
    ASSERT_EQ(initiate(), 0);
    const bson::ObjectId set_id = member_->config()->set_id;
    const bson::ObjectId first = member_->election_id();
    start();
    EXPECT_TRUE(member_->role().is_primary());
    EXPECT_EQ(member_->last().term, 2);
    EXPECT_EQ(member_->config()->set_id, set_id);
    const bson::ObjectId second = member_->election_id();
    EXPECT_LT(std::memcmp(first.bytes, second.bytes, sizeof first.bytes), 0);
    EXPECT_EQ(notes().back(), "2 { msg: \"new primary\" }");
    EXPECT_EQ(initiate(), base::kAlreadyInitialized);
}

TEST_F(MemberTest, IsInitiatedOnlyWithItself) {
    EXPECT_EQ(initiate(R"({"_id": "rs0", "members": [{"_id": 0, "host": "no.example.invalid"}]})"),
              base::kNodeNotFound);
    EXPECT_EQ(initiate(R"({"_id": "rs0", "members": [{"_id": 0, "host": "here.example:5"}]})"),
              base::kNodeNotFound);
    EXPECT_EQ(initiate(R"({"_id": "other", "members": [{"_id": 0, "host": "here.example"}]})"),
              base::kInvalidReplicaSetConfig);
    EXPECT_EQ(initiate(R"({"_id": "rs0", "version": 2,
                           "members": [{"_id": 0, "host": "here.example"}]})"),
              base::kInvalidReplicaSetConfig);
    EXPECT_EQ(member_->role().state(), State::startup);
    EXPECT_EQ(stored_configs(), 0);
    EXPECT_TRUE(notes().empty());
    EXPECT_EQ(initiate(R"({"_id": "rs0", "members": [{"_id": 5, "host": "127.0.0.1"}]})"), 0);
    EXPECT_EQ(member_->config()->own().host, "127.0.0.1:27017");
    EXPECT_EQ(member_->config()->own().id, 5);
}

TEST_F(MemberTest, TakesANewerConfiguration) {
    ASSERT_EQ(initiate(), 0);
    const std::string id = bson::to_json(bson::make("replicaSetId", member_->config()->set_id));
    constexpr const char* kSecond =
        R"({"_id": "rs0", "version": 2, "members": [{"_id": 0, "host": "here.example",
            "tags": {"dc": "a"}}]})";
    EXPECT_EQ(reconfigure(kSecond), 0);
    EXPECT_EQ(member_->config()->version, 2);
    EXPECT_EQ(reconfigure(kSecond), base::kNewReplicaSetConfigurationIncompatible);
    EXPECT_EQ(reconfigure(kSecond, true), 0);
    EXPECT_GE(member_->config()->version, 10'003);
    const int32_t forced = member_->config()->version;
    EXPECT_EQ(id, bson::to_json(bson::make("replicaSetId", member_->config()->set_id)));
    EXPECT_EQ(reconfigure(R"({"_id": "rs0", "version": 9, "members": [{"_id": 0,
                              "host": "here.example"}, {"_id": 1, "host": "there.example"}]})",
                          true),
              base::kInvalidReplicaSetConfig);
    EXPECT_EQ(reconfigure(R"({"_id": "rs0", "version": 9, "members": [
                              {"_id": 0, "host": "here.example", "priority": 0},
                              {"_id": 1, "host": "there.example"}]})",
                          true),
              base::kNodeNotElectable);
    EXPECT_EQ(reconfigure(R"({"_id": "rs0", "version": 9, "members": [{"_id": 0,
                              "host": "there.example.invalid"}]})"),
              base::kNodeNotFound);
    EXPECT_EQ(reconfigure(R"({"_id": "rs0", "version": 9, "members": [{"_id": 0,
                              "host": "here.example"}], "settings": {"replicaSetId":
                              {"$oid": "0123456789abcdef01234567"}}})"),
              base::kNewReplicaSetConfigurationIncompatible);
    EXPECT_EQ(stored_configs(), 1);
    EXPECT_EQ(notes().back(), fmt::format("1 {{ msg: \"Reconfig set\", version: {} }}", forced));
    start();
    EXPECT_EQ(member_->config()->version, forced);
    EXPECT_EQ(bson::to_text(member_->config()->own().tags.doc()), "{ dc: \"a\" }");
}

// The machine got another name, or the set another one at the start.
TEST_F(MemberTest, IsRemovedByAConfigurationOfOthers) {
    ASSERT_EQ(initiate(), 0);
    start("here.example:27017", "rs9");
    EXPECT_EQ(member_->role().state(), State::removed);
    EXPECT_EQ(initiate(), base::kAlreadyInitialized);
    EXPECT_EQ(failure([this] { member_->needed_config(); }), base::kInvalidReplicaSetConfig);
    {
        const storage::DatabaseLock lock(engine_.locks(), "local", true);
        catalog::Collection& configs = *catalog_->collection(kConfigs);
        configs.update(
            configs.records().first_id(),
            Config::parse(Config::of_one_member("rs0", "gone.invalid:1"), {.set_name = "rs0"})
                .document);
    }
    start();
    EXPECT_EQ(member_->role().state(), State::removed);
    EXPECT_EQ(notes().size(), 1U);
    constexpr const char* kOwn =
        R"({"_id": "rs0", "members": [{"_id": 0, "host": "here.example"}]})";
    EXPECT_EQ(reconfigure(kOwn), base::kNotWritablePrimary);
    EXPECT_EQ(reconfigure(kOwn, true), 0);
    EXPECT_TRUE(member_->role().is_primary());
    EXPECT_EQ(member_->last().term, 2);
    EXPECT_EQ(stored_configs(), 1);
}

TEST_F(MemberTest, DoesNotBeginASetOnTheLogOfAnother) {
    {
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
        catalog_->get_or_create("local").create(
            "local.oplog.rs", bson::make("capped", true, "size", 100000, "autoIndexId", false));
    }
    {
        // An entry from the time before there was this option.
        catalog::Catalog plain(engine_);
        const storage::DatabaseLock lock(engine_.locks(), "local", true);
        plain.collection("local.oplog.rs")->insert(bson::make("op", "n"));
    }
    EXPECT_EQ(initiate(), base::kAlreadyInitialized);
    EXPECT_EQ(member_->role().state(), State::startup);
}

// A member of a set of two on this machine, which differ by their ports.
class TwoMembersTest : public MemberTest {
  protected:
    struct Second {
        explicit Second(TwoMembersTest& test, const char* host = kSecond, int port = 27018) {
            catalog = std::make_unique<catalog::Catalog>(engine);
            log = std::make_unique<oplog::Log>(engine, *catalog, oplog::Form::replica_set);
            member = std::make_unique<Member>(engine, *catalog, *log,
                                              Member::Options{.set_name = test.set_of_second_,
                                                              .own_name = "here.example",
                                                              .own_host = host,
                                                              .port = port,
                                                              .log_bytes = 1 << 20,
                                                              .answers_limit = {}});
        }
        storage::contract::MemoryEngine engine{false};
        std::unique_ptr<catalog::Catalog> catalog;
        std::unique_ptr<oplog::Log> log;
        std::unique_ptr<Member> member;
    };
    static constexpr const char* kFirst = "here.example:27017";
    static constexpr const char* kSecond = "here.example:27018";
    static constexpr const char* kBoth =
        R"({"_id": "rs0", "version": 1, "members": [{"_id": 0, "host": "here.example:27017"},
            {"_id": 1, "host": "here.example:27018", "priority": 0}]})";
    static constexpr const char* kSecondFirst =
        R"({"_id": "rs0", "version": 2, "members": [
            {"_id": 0, "host": "here.example:27017", "priority": 0},
            {"_id": 1, "host": "here.example:27018"}]})";

    // One asks the other.
    static void ask(Member& one, Member& other, const char* host) {
        bson::Builder answer;
        other.peers().answer(one.peers().question(), answer);
        one.peers().note_answer(host, answer.doc(), 5);
    }
    void exchange(Member& second) {
        ask(*member_, second, kSecond);
        ask(second, *member_, kFirst);
    }

    // Makes the second member the primary, which cannot reach the first one.
    static int force(Second& second) {
        second.member->peers().note_no_answer(kFirst, "as the test wants it");
        return failure([&] { second.member->reconfigure(bson::from_json(kSecondFirst), true); });
    }

    std::string set_of_second_ = "rs0";
};

TEST_F(TwoMembersTest, TheOtherGetsTheConfigurationByHeartbeats) {
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    EXPECT_TRUE(member_->role().is_primary());
    EXPECT_EQ(member_->peers().hosts(), std::vector<std::string>{kSecond});
    EXPECT_TRUE(second.member->peers().hosts().empty());
    EXPECT_EQ(member_->peers().peer(kSecond).state, State::unknown);
    ask(*member_, *second.member, kSecond);
    EXPECT_EQ(member_->peers().peer(kSecond).state, State::startup);
    EXPECT_EQ(second.member->peers().hosts(), std::vector<std::string>{kFirst});
    ask(*second.member, *member_, kFirst);
    EXPECT_EQ(second.member->role().state(), State::startup2);
    EXPECT_TRUE(second.member->role().follows());
    EXPECT_EQ(second.member->config()->set_id, member_->config()->set_id);
    EXPECT_EQ(second.member->primary_host(), kFirst);
    EXPECT_EQ(second.member->peers().peer(kFirst).state, State::primary);
    EXPECT_EQ(second.member->peers().peer(kFirst).last, member_->last());
    EXPECT_EQ(second.member->peers().peer(kFirst).round_trip_ms, 5);
    EXPECT_EQ(second.member->lag_seconds(), std::nullopt) << "it has no position yet";
    second.member->peers().note_no_answer(kFirst, "as the test wants it");
    EXPECT_EQ(second.member->peers().peer(kFirst).state, State::down);
    EXPECT_EQ(second.member->primary_host(), "");
    // It becomes no primary by a start.
    second.member->begin_own_term();
    EXPECT_EQ(second.member->role().state(), State::startup2);
    EXPECT_EQ(failure([&] { second.member->reconfigure(bson::from_json(kBoth), false); }),
              base::kNotWritablePrimary);
}

TEST_F(TwoMembersTest, OnlyThePrimaryInitiates) {
    EXPECT_EQ(initiate(R"({"_id": "rs0", "members": [
                          {"_id": 0, "host": "here.example:27017", "priority": 0},
                          {"_id": 1, "host": "here.example:27018"}]})"),
              base::kNodeNotElectable);
    EXPECT_EQ(member_->role().state(), State::startup);
}

TEST_F(TwoMembersTest, AnotherSetIsNotHeard) {
    set_of_second_ = "rs1";
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    EXPECT_EQ(failure([&] { ask(*member_, *second.member, kSecond); }),
              base::kInconsistentReplicaSetNames);
    EXPECT_TRUE(second.member->peers().hosts().empty());
}

TEST_F(TwoMembersTest, DataOfItsOwnStays) {
    Second second(*this);
    {
        const storage::DatabaseLock lock(second.engine.locks(), "test", true);
        second.catalog->collection_for_write("test.c").insert(bson::make("_id", 1));
    }
    ASSERT_EQ(initiate(kBoth), 0);
    exchange(*second.member);
    EXPECT_EQ(second.member->role().state(), State::startup);
    EXPECT_NE(second.member->following().message().find("has data of its own"), std::string::npos);
}

// After a restart the primary has asked the others first. A secondary that was made the primary
// has a newer configuration.
TEST_F(TwoMembersTest, APrimaryThatWasReplacedFollows) {
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    exchange(*second.member);
    EXPECT_EQ(force(second), 0);
    EXPECT_TRUE(second.member->role().is_primary());
    EXPECT_GT(second.member->config()->version, 2);
    {
        const storage::DatabaseLock lock(engine_.locks(), "test", true);
        catalog_->collection_for_write("test.c").insert(bson::make("_id", 1));
    }
    start();
    EXPECT_EQ(member_->role().state(), State::secondary);
    ask(*member_, *second.member, kSecond);
    member_->begin_own_term();
    EXPECT_EQ(member_->role().state(), State::secondary);
    EXPECT_EQ(member_->config()->version, second.member->config()->version);
    // Nor does one that runs go on with its writes.
    const storage::DatabaseLock lock(engine_.locks(), "test", true);
    EXPECT_EQ(
        failure([this] { catalog_->collection_for_write("test.c").insert(bson::make("_id", 2)); }),
        base::kInterruptedDueToReplStateChange);
}

// What a majority has may be in no other log.
TEST_F(TwoMembersTest, NoMemberIsForcedPastOneThatHasMore) {
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    exchange(*second.member);
    EXPECT_EQ(failure([&] { second.member->reconfigure(bson::from_json(kSecondFirst), true); }),
              base::kInvalidReplicaSetConfig);
    EXPECT_EQ(second.member->role().state(), State::startup2);
    EXPECT_EQ(second.member->config()->version, 1);
    EXPECT_EQ(force(second), 0);
}

// Each of the two is forced where the other cannot be reached.
TEST_F(TwoMembersTest, OfTwoForcedConfigurationsOneCounts) {
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    exchange(*second.member);
    EXPECT_EQ(force(second), 0);
    EXPECT_EQ(reconfigure(kBoth, true), 0);
    EXPECT_TRUE(member_->role().is_primary() && second.member->role().is_primary());
    const int32_t later = std::max(member_->config()->version, second.member->config()->version);
    exchange(*second.member);
    EXPECT_NE(member_->role().is_primary(), second.member->role().is_primary());
    EXPECT_EQ(member_->config()->version, later);
    EXPECT_EQ(second.member->config()->version, later);
}

TEST_F(TwoMembersTest, APrimaryStepsDownForANewerConfiguration) {
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    exchange(*second.member);
    EXPECT_EQ(force(second), 0);
    ask(*member_, *second.member, kSecond);
    EXPECT_EQ(member_->role().state(), State::secondary);
    EXPECT_EQ(member_->primary_host(), kSecond);
}

TEST_F(TwoMembersTest, AStartOfThePrimaryBeginsATermOnceOthersWereAsked) {
    ASSERT_EQ(initiate(kBoth), 0);
    start();
    EXPECT_EQ(member_->role().state(), State::secondary);
    member_->begin_own_term();
    EXPECT_TRUE(member_->role().is_primary());
    EXPECT_EQ(member_->last().term, 2);
}

// One that has lost its data gets the configuration from another, and is not the primary by it.
TEST_F(TwoMembersTest, APrimaryWithoutDataIsNone) {
    Second second(*this);
    ASSERT_EQ(initiate(kBoth), 0);
    exchange(*second.member);
    Second empty(*this, kFirst, 27017);
    ask(*second.member, *empty.member, kFirst);
    ask(*empty.member, *second.member, kSecond);
    EXPECT_EQ(empty.member->role().state(), State::startup);
    EXPECT_NE(empty.member->following().message().find("by it this server is the primary"),
              std::string::npos);
}

TEST_F(TwoMembersTest, IsAloneWhereItWasStartedSo) {
    Member alone(engine_, *catalog_, *log_,
                 Member::Options{.set_name = "rs0",
                                 .own_name = "here.example",
                                 .own_host = kFirst,
                                 .port = 27017,
                                 .log_bytes = 1 << 20,
                                 .why_alone = "the test says so"});
    EXPECT_EQ(failure([&] { alone.initiate(bson::from_json(kBoth)); }),
              base::kInvalidReplicaSetConfig);
    EXPECT_EQ(failure([&] { alone.initiate({}); }), 0);
}

TEST(OwnHost, IsFoundByNamePortAndAddress) {
    EXPECT_TRUE(is_own_host("me:5", "me", 5));
    EXPECT_FALSE(is_own_host("me:6", "me", 5));
    EXPECT_FALSE(is_own_host("me", "me", 5));
    EXPECT_TRUE(is_own_host("127.0.0.1:5", "me", 5));
    EXPECT_TRUE(is_own_host("[127.0.0.1]:5", "me", 5));
    EXPECT_FALSE(is_own_host("203.0.113.77:5", "me", 5));
    EXPECT_FALSE(is_own_host("no.example.invalid:5", "me", 5));
}

}  // namespace
}  // namespace replica
