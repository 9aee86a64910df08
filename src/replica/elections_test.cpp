// Members over engines in memory, and a coordinator in memory: what elections do to a member.
#include "replica/elections.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/testing/muted.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "election/testing/memory_coordinator.h"
#include "replica/tailer.h"
#include "storage/contract/memory_engine.h"

namespace replica {
namespace {

// What all members ask; it can be away.
struct Store {
    std::mutex mutex;
    election::MemoryCoordinator coordinator;
    bool is_away = false;
};

class StoreClient final : public election::Coordinator {
  public:
    explicit StoreClient(Store& store) : store_(store) {}
    std::optional<election::Answer> run(const election::Transaction& transaction,
                                        std::string* why) override {
        const std::lock_guard guard(store_.mutex);
        if (!store_.is_away) return store_.coordinator.apply(transaction);
        *why = "it is away";
        return {};
    }

  private:
    Store& store_;
};

class Voter {
  public:
    Voter(Store& store, std::string host) : store_(store), host_(std::move(host)) { start(); }
    ~Voter() { end(); }

    void start() {
        catalog_ = std::make_unique<catalog::Catalog>(engine_);
        log_ = std::make_unique<oplog::Log>(engine_, *catalog_, oplog::Form::replica_set);
        const int port = std::stoi(host_.substr(host_.find(':') + 1));
        member_ = std::make_unique<Member>(engine_, *catalog_, *log_,
                                           Member::Options{.set_name = "rs0",
                                                           .own_name = "here.example",
                                                           .own_host = host_,
                                                           .port = port,
                                                           .log_bytes = 1 << 20,
                                                           .elects = true,
                                                           .answers_limit = {}});
        elections_ = std::make_unique<Elections>(*member_, std::make_unique<StoreClient>(store_),
                                                 "http://store.example");
        member_->set_elections(elections_.get());
        {
            const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
            member_->open();
        }
        elections_->start();
    }
    void end() {
        if (elections_ != nullptr) elections_->stop();
        member_ = nullptr;
        elections_ = nullptr;
        log_ = nullptr;
        catalog_ = nullptr;
    }
    catalog::Catalog& catalog() { return *catalog_; }
    Member& member() { return *member_; }
    Elections& elections() { return *elections_; }
    const std::string& host() const { return host_; }
    bool leads() const { return member_->role().takes_writes(); }
    void insert(int id) {
        const storage::DatabaseLock lock(engine_.locks(), "d", true);
        catalog_->get_or_create("d").get_or_create("d.c").insert(bson::make("_id", id));
    }
    void forget_elections() {
        const storage::GlobalLock lock(engine_.locks(), storage::GlobalMode::W);
        catalog_->database("local")->drop("local.replset.election");
    }
    // One heartbeat to the other one, and its answer.
    void ask(Voter& other) {
        const int64_t sent_ms = base::ms_of_boot_clock();
        bson::Builder answer;
        other.member().peers().answer(member_->peers().question(other.host()), answer);
        member_->peers().note_answer(other.host(), answer.doc(), 0, sent_ms);
    }

  private:
    Store& store_;
    const std::string host_;
    storage::contract::MemoryEngine engine_{false};
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<oplog::Log> log_;
    std::unique_ptr<Member> member_;
    std::unique_ptr<Elections> elections_;
};

// A member without documents, whose log has these entries.
class LogSource final : public SyncSource {
  public:
    LogSource(std::string host, std::function<int64_t()> term_led,
              std::vector<bson::Object> entries)
        : host_(std::move(host)), term_led_(std::move(term_led)), entries_(std::move(entries)) {}
    const std::string& host() const override { return host_; }
    bson::Object oldest_entry() override { return entries_.front(); }
    bson::Object newest_entry() override { return entries_.front(); }
    void read_log(uint64_t from) override {
        for (at_ = 0; at_ < entries_.size() && entries_[at_]["ts"].as_timestamp() < from;)
            ++at_;
    }
    int64_t term_led() override { return term_led_(); }
    int32_t rollbacks() override { return 0; }
    bson::Doc next_entries() override {
        bson::Builder batch;
        if (at_ < entries_.size()) batch.append("0", entries_[at_++]);
        batch_ = batch.object();
        return batch_;
    }
    oplog::Position committed() const override { return {2, 12}; }
    void report(const Reached&) override {}
    std::vector<std::string> databases() override { return {}; }
    void read(std::string_view, const std::function<void(bson::Doc)>&) override {}
    bson::Object find(std::string_view, bson::Doc) override { return {}; }

  private:
    const std::string host_;
    const std::function<int64_t()> term_led_;
    const std::vector<bson::Object> entries_;
    size_t at_ = 0;
    bson::Object batch_;
};

bson::Object note(int64_t term, uint64_t ts) {
    bson::Builder entry;
    entry.append_timestamp("ts", ts).append("t", term).append("h", int64_t{7}).append("v", 2);
    entry.append("op", "n").append("ns", "").append("o", bson::Doc());
    return entry.object();
}

template <typename Condition>
testing::AssertionResult comes_true(Condition&& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until)
            return testing::AssertionFailure() << "waited in vain";
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return testing::AssertionSuccess();
}

template <typename Action>
int failure(Action&& action) {
    try {
        action();
    } catch (const base::Error& error) {
        return error.code();
    }
    return 0;
}

constexpr const char* kFirst = "here.example:27017";
constexpr const char* kSecond = "here.example:27018";

std::string config_of_two(const char* more = "") {
    return fmt::format(R"({{"_id": "rs0", "members": [{{"_id": 0, "host": "{}"}},
                           {{"_id": 1, "host": "{}"{}}}],
                           "settings": {{"electionTimeoutMillis": 60000}}}})",
                       kFirst, kSecond, more);
}

class ElectionsTest : public testing::Test {
  protected:
    const base::MutedLog muted_;
    Store store_;
};

TEST_F(ElectionsTest, ASetBeginsAndEachStartBeginsATerm) {
    Voter voter(store_, kFirst);
    EXPECT_EQ(failure([&] { voter.insert(0); }), 0);  // before there is a set, no log
    voter.member().initiate(bson::Doc());
    EXPECT_TRUE(voter.leads());
    EXPECT_EQ(voter.member().last().term, 1);
    EXPECT_EQ(failure([&] { voter.member().initiate(bson::Doc()); }), base::kAlreadyInitialized);
    voter.insert(1);
    voter.end();
    voter.start();
    ASSERT_TRUE(comes_true([&] { return voter.leads(); }));
    EXPECT_EQ(voter.member().last().term, 2);
    EXPECT_EQ(voter.elections().term(), 2);
}

TEST_F(ElectionsTest, ASetThatIsThereIsNotBegunAgain) {
    Voter voter(store_, kFirst), other(store_, kSecond);
    voter.member().initiate(bson::Doc());
    EXPECT_EQ(failure([&] { other.member().initiate(bson::Doc()); }), base::kAlreadyInitialized);
    EXPECT_EQ(other.member().role().state(), State::startup);
}

TEST_F(ElectionsTest, NothingBeginsWithoutTheCoordinator) {
    Voter voter(store_, kFirst);
    store_.is_away = true;
    EXPECT_EQ(failure([&] { voter.member().initiate(bson::Doc()); }), base::kHostUnreachable);
    EXPECT_EQ(voter.member().role().state(), State::startup);
    store_.is_away = false;
    voter.member().initiate(bson::Doc());
    EXPECT_TRUE(voter.leads());
}

TEST_F(ElectionsTest, AnotherSetOfTheNameIsLeftAlone) {
    Store foreign;
    Voter voter(store_, kFirst), namesake(foreign, kFirst);
    namesake.member().initiate(bson::Doc());
    voter.member().initiate(bson::Doc());
    namesake.end();
    namesake.start();
    ASSERT_TRUE(comes_true([&] { return namesake.elections().term() == 2; }));
    voter.end();
    {
        const std::lock_guard guard(store_.mutex), other(foreign.mutex);
        std::swap(store_.coordinator, foreign.coordinator);
    }
    voter.start();
    const auto why = [&] {
        bson::Builder status;
        voter.elections().append_status(status);
        const bson::Element said = status.doc().at_path("coordinator.why");
        return said ? std::string(said.as_string()) : std::string();
    };
    ASSERT_TRUE(comes_true([&] { return !why().empty(); }));
    EXPECT_NE(why().find("another set of the name rs0"), std::string::npos) << why();
    EXPECT_FALSE(voter.leads());
    EXPECT_EQ(voter.elections().term(), 1);
}

TEST_F(ElectionsTest, AMemberWhoseDirectoryIsNotItsOwnDoesNotStand) {
    Voter voter(store_, kFirst);
    voter.member().initiate(bson::Doc());
    voter.forget_elections();
    voter.end();
    voter.start();
    ASSERT_TRUE(comes_true([&] { return voter.elections().is_blank(); }));
    EXPECT_FALSE(voter.leads());
    // Nor is the coordinator told anything by it.
    EXPECT_EQ(failure([&] { voter.member().reconfigure(voter.member().config()->document, true); }),
              base::kNewReplicaSetConfigurationIncompatible);
}

TEST_F(ElectionsTest, APrimaryOfAnEarlierTermIsNoneAnyMore) {
    Voter voter(store_, kFirst), other(store_, kSecond);
    voter.member().initiate(bson::from_json(config_of_two()));
    EXPECT_TRUE(voter.leads());
    voter.ask(other);
    other.ask(voter);  // it takes the configuration
    ASSERT_TRUE(comes_true([&] { return other.elections().term() == 1; }));
    EXPECT_GE(other.member().config()->votes(), other.member().config()->majority());
    {
        const std::lock_guard guard(store_.mutex);
        store_.is_away = true;  // or it would be elected again at once
    }
    // What a member of a later term would say.
    bson::Builder answer;
    voter.member().peers().answer(
        bson::from_json(R"({"replSetHeartbeat": "rs0", "v": 1, "from": "here.example:27018",
                            "fromId": 1, "election": {"gen": "x", "term": 9}})"),
        answer);
    ASSERT_TRUE(comes_true([&] { return voter.member().role().state() == State::secondary; }));
    EXPECT_EQ(failure([&] { voter.insert(1); }), base::kInterruptedDueToReplStateChange);
}

class FollowingTest : public ElectionsTest {
  protected:
    FollowingTest() {
        first_.member().initiate(bson::from_json(config_of_two()));
        first_.ask(second_);
        second_.ask(first_);
        EXPECT_TRUE(comes_true([&] { return second_.member().config()->term == 1; }));
    }
    // The second member follows a source that leads that term, as often as it is asked so; later
    // it leads none. False: a step was refused.
    bool follow(int64_t term, const std::vector<bson::Object>& log, int often = 100) {
        const auto term_led = [&] { return often-- > 0 ? term : int64_t{0}; };
        Tailer tailer(
            second_.catalog(), second_.member(), [](std::string_view, bson::Doc) {},
            [&](const std::string& host, const peer::Interrupt&) {
                return std::make_unique<LogSource>(host, term_led, log);
            });
        bool is_taken = true;
        for (int i = 0; i < 10; ++i)
            is_taken &= tailer.step();
        return is_taken;
    }

    Voter first_{store_, kFirst}, second_{store_, kSecond};
};

// Else what it promises of the terms up to the one that it knows would not be true.
TEST_F(FollowingTest, NoEntryOfATermThatIsNotKnownIsApplied) {
    EXPECT_FALSE(follow(1, {note(1, 10), note(1, 11), note(2, 12)}));
    EXPECT_EQ(second_.member().last(), (oplog::Position{1, 11}));
    EXPECT_EQ(second_.member().progress().committed(), oplog::Position());
}

// The directory of the one that was the primary may have come from an older copy.
TEST_F(FollowingTest, NothingIsTakenBackForOneThatDoesNotLead) {
    ASSERT_TRUE(follow(1, {note(1, 10), note(1, 11)}));
    EXPECT_FALSE(second_.elections().is_blank());
    for (const int64_t term : {0, 2}) {
        EXPECT_FALSE(follow(term, {note(1, 10)}));
        EXPECT_EQ(second_.member().last(), (oplog::Position{1, 11}));
        EXPECT_FALSE(second_.elections().is_blank());
    }
    follow(1, {note(1, 10)});
    EXPECT_TRUE(second_.elections().is_blank());
}

TEST_F(FollowingTest, ACopyIsCompleteWithWhatThePrimaryHas) {
    for (const int often : {0, 1}) {  // while it copies, and no more
        EXPECT_FALSE(follow(1, {note(1, 10), note(1, 11)}, often));
        EXPECT_EQ(second_.member().last().ts != 0, often == 1);
        EXPECT_TRUE(second_.elections().is_blank());
        EXPECT_NE(second_.member().role().state(), State::secondary);
    }
    EXPECT_TRUE(follow(1, {note(1, 10), note(1, 11)}));
    EXPECT_FALSE(second_.elections().is_blank());
    EXPECT_EQ(second_.member().role().state(), State::secondary);
}

TEST_F(ElectionsTest, WhatAPrimaryMayNotHaveIsRefused) {
    Voter voter(store_, kFirst);
    const auto begin = [&](const char* more) {
        return failure([&] { voter.member().initiate(bson::from_json(config_of_two(more))); });
    };
    EXPECT_EQ(begin(R"(, "arbiterOnly": true)"), base::kInvalidReplicaSetConfig);
    EXPECT_EQ(begin(R"(, "slaveDelay": 3)"), base::kInvalidReplicaSetConfig);
    EXPECT_EQ(begin(R"(, "priority": 0)"), 0);
    const auto change = [&](int version, const char* more) {
        const std::string text = config_of_two(more);
        bson::Builder next;
        next.append_all(bson::from_json(text)).append("version", version);
        return failure([&] { voter.member().reconfigure(next.doc(), false); });
    };
    EXPECT_EQ(change(1, ""), base::kNewReplicaSetConfigurationIncompatible);
    ASSERT_TRUE(comes_true([&] { return change(2, "") == 0; }));
    ASSERT_TRUE(comes_true([&] { return voter.member().config()->version == 2; }));
    EXPECT_EQ(voter.member().config()->votes(), 1);  // the other one has no copy yet
    store_.is_away = true;
    EXPECT_EQ(change(3, ""), base::kHostUnreachable);
    EXPECT_TRUE(voter.leads());
}

}  // namespace
}  // namespace replica
