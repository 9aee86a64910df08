// The rules of elections one by one; schedules_test.cpp has them all at once.
#include "election/election.h"

#include <gtest/gtest.h>

#include "election/testing/memory_coordinator.h"

namespace election {
namespace {

constexpr int64_t kTimeout = 1000;
constexpr const char* kGen = "g";

// Three members; the one under test, of which all is heard that it asks for.
class ElectionTest : public testing::Test {
  protected:
    ElectionTest() { config_ = {1, {{0, 1}, {1, 1}, {2, 1}}, "{}"}; }

    void begin_set(MemberId primary = 1, const std::string& start = "of1") {
        coordinator_.apply(keys_.create({kGen, 1, primary, start, config_.version}, config_));
    }
    void make(MemberId id = 0, bool is_blank = false, int64_t starts = 5) {
        election_.emplace(keys_,
                          Election::Self{.id = id,
                                         .start = {"own", starts},
                                         .is_blank = is_blank,
                                         .known_term = 0,
                                         .config = config_,
                                         .seed = 1},
                          Election::Times{.timeout_ms = kTimeout, .retry_ms = 50, .look_ms = 5000});
        election_->moved({1, 10}, {1, 10});
        election_->note_time(now_);
        run();
    }
    // Does what it asks for, until it asks for nothing more that can be done at once.
    void run() {
        for (std::vector<Action> actions = election_->take_actions(); !actions.empty();
             actions = election_->take_actions())
            for (Action& action : actions) {
                if (const auto* transact = std::get_if<Transact>(&action)) {
                    transactions_.push_back(transact->transaction);
                    if (answers_)
                        election_->transacted(transact->number,
                                              coordinator_.apply(transact->transaction), now_);
                    else
                        open_ = transact->number;
                } else if (std::get_if<Stop>(&action) != nullptr && stops_) {
                    election_->stopped(now_);
                }
                said_.push_back(std::move(action));
            }
    }
    void tick(int64_t later = 1) {
        now_ += later;
        election_->note_time(now_);
        run();
    }
    // The actions of that kind since the last call.
    template <typename Kind>
    std::vector<Kind> take() {
        std::vector<Kind> found;
        for (const Action& action : said_)
            if (const auto* one = std::get_if<Kind>(&action)) found.push_back(*one);
        return found;
    }
    void forget() {
        said_.clear();
        transactions_.clear();
    }
    Heartbeat heartbeat(int64_t term, bool is_primary, int64_t sealed = 0) const {
        return {.gen = kGen,
                .term = term,
                .is_primary = is_primary,
                .sealed = sealed,
                .durable = {},
                .config = 1,
                .priority = 1};
    }
    void put(const std::string& key, const std::string& value) {
        coordinator_.apply({{}, {{"/mongod-dur/s/" + key, value}}, {}, {}});
    }
    std::string value(const std::string& key) const {
        const auto found = coordinator_.values().find("/mongod-dur/s/" + key);
        return found == coordinator_.values().end() ? "none" : found->second;
    }
    std::vector<std::string> compared() const {
        std::vector<std::string> keys;
        for (const Compare& each : transactions_.back().compares)
            keys.push_back(each.key.substr(std::string("/mongod-dur/s/").size()) + " " +
                           each.value.value_or("absent"));
        return keys;
    }
    void become_primary() {
        begin_set(0, "own");
        make();
        ASSERT_EQ(election_->phase(), Phase::primary);
        election_->moved({1, 20}, {1, 20});
        election_->began(1, {1, 20});
    }
    // It follows 1 in term 1, whose process is gone.
    void lose_primary() {
        begin_set();
        make();
        ASSERT_EQ(election_->followed(), 1);
        forget();
        election_->refused(1, now_);
        run();
    }
    void seal() {
        lose_primary();
        election_->agreed(2, 1, Question::dry, true, now_);
        run();
        ASSERT_EQ(election_->phase(), Phase::sealed);
    }

    const Keys keys_{"s"};
    Config config_;
    MemoryCoordinator coordinator_;
    std::optional<Election> election_;
    int64_t now_ = 1000;
    bool answers_ = true, stops_ = true;
    uint64_t open_ = 0;
    std::vector<Action> said_;
    std::vector<Transaction> transactions_;
};

const std::string kSeal1 = "seal/0000000000000001/";

TEST_F(ElectionTest, AProcessFirstSaysThatItIsThereAndThenFollows) {
    begin_set();
    make();
    EXPECT_EQ(value("member/0"), "start=own starts=5");
    ASSERT_EQ(take<Follow>().size(), 1u);
    EXPECT_EQ(take<Follow>()[0].primary, 1);
    EXPECT_EQ(election_->phase(), Phase::following);
}

TEST_F(ElectionTest, AnAnswerWithoutTheOwnProcessIsNotFollowed) {
    begin_set();
    answers_ = false;
    make();
    election_->transacted(open_, coordinator_.apply(keys_.read()), now_);
    EXPECT_EQ(election_->phase(), Phase::starting);
    EXPECT_EQ(election_->followed(), kNoMember);
}

TEST_F(ElectionTest, ThePrimaryIsTheProcessThatStandsInTheTerm) {
    begin_set(0, "former");
    make();
    EXPECT_EQ(election_->phase(), Phase::following);
    EXPECT_EQ(election_->followed(), kNoMember);
    EXPECT_TRUE(take<BecomePrimary>().empty());
}

TEST_F(ElectionTest, NothingIsCommittedBeforeTheTermsFirstEntry) {
    begin_set(0, "own");
    make();
    ASSERT_EQ(take<BecomePrimary>().size(), 1u);
    EXPECT_FALSE(take<BecomePrimary>()[0].is_renewed);
    election_->reported(1, kGen, 1, 1, {0, 9}, now_);
    election_->reported(2, kGen, 1, 1, {0, 9}, now_);
    EXPECT_EQ(election_->committed(), Position());
    election_->moved({1, 20}, {1, 20});
    election_->began(1, {1, 20});
    EXPECT_EQ(election_->committed(), Position());
    election_->reported(1, kGen, 1, 1, {1, 20}, now_);
    EXPECT_EQ(election_->committed(), (Position{1, 20}));
}

TEST_F(ElectionTest, OnlyReportsOfTheTermCountUnderTheConfiguration) {
    become_primary();
    config_.version = 2;
    election_->reported(1, kGen, 1, 1, {1, 20}, now_);
    election_->reconfigure(config_, now_);
    run();
    ASSERT_EQ(election_->config().version, 2);
    const Position before = election_->committed();
    election_->moved({1, 30}, {1, 30});
    election_->reported(1, kGen, 1, 1, {1, 30}, now_);  // knows the old configuration
    EXPECT_EQ(election_->committed(), before);
    election_->reported(1, kGen, 0, 2, {1, 30}, now_);  // follows another term
    election_->reported(1, "h", 1, 2, {1, 30}, now_);
    EXPECT_EQ(election_->committed(), before);
    election_->reported(1, kGen, 1, 2, {1, 30}, now_);
    EXPECT_EQ(election_->committed(), (Position{1, 30}));
}

TEST_F(ElectionTest, TheOwnJournalCountsToo) {
    become_primary();
    election_->moved({1, 30}, {1, 20});
    election_->reported(1, kGen, 1, 1, {1, 30}, now_);
    EXPECT_EQ(election_->committed(), (Position{1, 20}));
}

TEST_F(ElectionTest, NoMemberAgreesThatHearsThePrimary) {
    begin_set();
    make();
    election_->heard(1, heartbeat(1, true), now_);
    election_->asked(7, kGen, 1, Question::dry, now_);
    election_->asked(8, kGen, 1, Question::seal, now_);
    run();
    EXPECT_EQ(take<Reply>(), (std::vector<Reply>{{7, false, "it hears the primary"},
                                                 {8, false, "it hears the primary"}}));
    EXPECT_EQ(election_->phase(), Phase::following);
}

TEST_F(ElectionTest, WhoAgreesHasHadAnAnswerSinceItWasAsked) {
    begin_set();
    make();
    election_->refused(1, now_);
    run();
    forget();
    answers_ = false;
    election_->asked(7, kGen, 1, Question::dry, now_);
    run();
    EXPECT_TRUE(take<Reply>().empty());
    const uint64_t asked = open_;
    election_->transacted(asked, coordinator_.apply(keys_.read()), now_);
    run();
    EXPECT_EQ(take<Reply>(), (std::vector<Reply>{{7, true, ""}}));
    forget();
    election_->asked(8, kGen, 1, Question::dry, now_);
    run();
    election_->transacted(open_, {}, now_);
    run();
    EXPECT_EQ(take<Reply>(),
              (std::vector<Reply>{{8, false, "the coordinator does not answer it"}}));
}

TEST_F(ElectionTest, WhoseLimitIsOverAgreesToSeal) {
    begin_set();
    make();
    now_ += kTimeout;
    election_->asked(7, kGen, 1, Question::seal, now_);
    run();
    EXPECT_EQ(take<Reply>(), (std::vector<Reply>{{7, true, ""}}));
    EXPECT_EQ(value(kSeal1 + "0"), "1,0,10");
}

TEST_F(ElectionTest, ThereIsNoCandidacyWithoutAMajority) {
    lose_primary();
    EXPECT_EQ(take<Ask>(),
              (std::vector<Ask>{{1, Question::dry, kGen, 1}, {2, Question::dry, kGen, 1}}));
    EXPECT_EQ(election_->phase(), Phase::following);
    EXPECT_EQ(value(kSeal1 + "0"), "none");
    election_->agreed(2, 1, Question::dry, false, now_);
    election_->agreed(2, 0, Question::dry, true, now_);
    election_->agreed(9, 1, Question::dry, true, now_);
    run();
    EXPECT_EQ(election_->phase(), Phase::following);
}

TEST_F(ElectionTest, ASealIsWrittenWhenAllIsInTheJournal) {
    lose_primary();
    stops_ = false;
    forget();
    election_->agreed(2, 1, Question::dry, true, now_);
    run();
    ASSERT_EQ(take<Stop>().size(), 1u);
    EXPECT_EQ(take<Stop>()[0].known_term, 1);
    EXPECT_EQ(election_->followed(), kNoMember);
    EXPECT_EQ(election_->heartbeat().sealed, 1);
    EXPECT_TRUE(transactions_.empty());
    election_->moved({1, 12}, {1, 12});
    election_->stopped(now_);
    run();
    EXPECT_EQ(value(kSeal1 + "0"), "1,0,12");
}

TEST_F(ElectionTest, ASealComparesTheTermItsProcessAndThatThereIsNone) {
    answers_ = true;
    lose_primary();
    answers_ = false;
    election_->agreed(2, 1, Question::dry, true, now_);
    run();
    EXPECT_EQ(compared(),
              (std::vector<std::string>{"term t=1 primary=1 start=of1 config=1 gen=g",
                                        "member/0 start=own starts=5", kSeal1 + "0 absent"}));
}

TEST_F(ElectionTest, SealsOfAMajorityMakeAPrimary) {
    seal();
    EXPECT_EQ(take<Ask>().back(), (Ask{2, Question::seal, kGen, 1}));
    put(kSeal1 + "2", "1,0,10");
    forget();
    election_->agreed(2, 1, Question::seal, true, now_);
    run();
    EXPECT_EQ(election_->phase(), Phase::primary);
    EXPECT_EQ(value("term"), "t=2 primary=0 start=own config=1 gen=g");
    EXPECT_EQ(take<BecomePrimary>()[0].term, 2);
    ASSERT_GE(transactions_.size(), 2u);
    EXPECT_EQ(compared(), (std::vector<std::string>{"term t=1 primary=1 start=of1 config=1 gen=g",
                                                    kSeal1 + "0 1,0,10", kSeal1 + "2 1,0,10"}));
}

TEST_F(ElectionTest, ASealBeyondTheOwnPositionIsNotCounted) {
    for (const char* beyond : {"1,0,11", "2,0,1"}) {
        coordinator_.lose_all();
        seal();
        put(kSeal1 + "2", beyond);
        tick(200);
        EXPECT_EQ(election_->phase(), Phase::sealed) << beyond;
    }
}

TEST_F(ElectionTest, AnElectionWithoutAnAnswerIsReadAgain) {
    seal();
    put(kSeal1 + "2", "1,0,10");
    answers_ = false;
    election_->agreed(2, 1, Question::seal, true, now_);
    run();
    election_->transacted(open_, coordinator_.apply(keys_.read()), now_);
    run();
    const Answer won = coordinator_.apply(transactions_.back());
    EXPECT_TRUE(won.succeeded);
    election_->transacted(open_, {}, now_);
    answers_ = true;
    tick(60);
    EXPECT_EQ(election_->phase(), Phase::primary);
    EXPECT_EQ(value("term"), "t=2 primary=0 start=own config=1 gen=g");
}

TEST_F(ElectionTest, TheSealOfTheProcessBeforeHolds) {
    begin_set();
    put(kSeal1 + "0", "1,0,10");
    make();
    EXPECT_EQ(election_->phase(), Phase::sealed);
    EXPECT_EQ(election_->followed(), kNoMember);
    EXPECT_TRUE(take<Follow>().empty());
}

TEST_F(ElectionTest, APrimaryAnswersWhileAMajorityAnswersIt) {
    become_primary();
    election_->answered(1, heartbeat(1, false), now_ - 100, now_);
    EXPECT_EQ(election_->lease_end_ms(now_), now_ - 100 + 900);
    answers_ = false;
    election_->answered(2, heartbeat(1, false, 1), now_, now_);  // it has sealed
    EXPECT_EQ(election_->lease_end_ms(now_), now_ - 100 + 900);
    tick(kTimeout - 1);
    EXPECT_EQ(election_->phase(), Phase::primary);
    tick(1);
    EXPECT_EQ(election_->phase(), Phase::following);
    ASSERT_EQ(take<BecomeSecondary>().size(), 1u);
    // The coordinator still names it: it is the primary of that term no more.
    answers_ = true;
    election_->transacted(open_, coordinator_.apply(keys_.read()), now_);
    tick(100);
    EXPECT_EQ(value("term"), "t=1 primary=0 start=own config=1 gen=g");
    EXPECT_EQ(election_->phase(), Phase::following);
}

TEST_F(ElectionTest, ABlankMemberDoesNothingBeforeItsCopyIsComplete) {
    begin_set();
    make(0, true);
    now_ += 2 * kTimeout;
    election_->asked(7, kGen, 1, Question::seal, now_);
    tick();
    EXPECT_EQ(take<Reply>()[0], (Reply{7, false, "its data is not complete"}));
    EXPECT_TRUE(take<Ask>().empty());
    election_->copied(0);
    EXPECT_TRUE(election_->is_blank());
    election_->copied(1);
    run();
    EXPECT_FALSE(election_->is_blank());
    EXPECT_FALSE(take<KeepSelf>()[0].is_blank);
    tick();
    EXPECT_FALSE(take<Ask>().empty());
}

TEST_F(ElectionTest, ACopyOfAnOlderDirectoryIsBlank) {
    begin_set();
    put("member/0", "start=later starts=5");
    make(0, false, 5);
    EXPECT_TRUE(election_->is_blank());
    EXPECT_EQ(take<KeepSelf>()[0].starts, 6);
    EXPECT_EQ(value("member/0"), "start=own starts=6");
}

TEST_F(ElectionTest, OneVoterComesOrGoesAtATime) {
    become_primary();
    election_->reported(1, kGen, 1, 1, {1, 20}, now_);
    config_.version = 2;
    config_.voters = {{0, 1}, {1, 1}, {3, 1}};
    election_->reconfigure(config_, now_);
    run();
    EXPECT_EQ(take<Outcome>()[0].refusal, "one voter at a time may come or go");
    config_.voters = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
    election_->reconfigure(config_, now_);
    run();
    EXPECT_EQ(take<Outcome>()[1].refusal, "");
    EXPECT_EQ(value("term"), "t=1 primary=0 start=own config=2 gen=g");
    EXPECT_EQ(value("config"), "version=2 voters=0:1,1:1,2:1,3:1\n{}");
    EXPECT_EQ(take<KeepConfig>()[0].config, config_);
}

TEST_F(ElectionTest, TheNextConfigurationWaitsForThisOne) {
    become_primary();
    config_.version = 2;
    const auto refusal = [this] {
        forget();
        election_->reconfigure(config_, now_);
        run();
        const std::vector<Outcome> outcomes = take<Outcome>();
        return outcomes.empty() ? "none" : outcomes[0].refusal;
    };
    const std::string not_yet(kNotSettled);
    EXPECT_EQ(refusal(), not_yet);
    election_->reported(1, kGen, 1, 0, {1, 20}, now_);  // does not know it
    EXPECT_EQ(refusal(), not_yet);
    election_->reported(1, kGen, 1, 1, {0, 30}, now_);  // has not the term's first entry
    EXPECT_EQ(refusal(), not_yet);
    election_->reported(1, kGen, 1, 1, {1, 20}, now_);
    EXPECT_EQ(refusal(), "");
    config_.version = 3;
    EXPECT_EQ(refusal(), not_yet);  // only this member knows the second one
    election_->reported(1, kGen, 1, 2, {1, 20}, now_);
    EXPECT_EQ(refusal(), "");
}

TEST_F(ElectionTest, WhatWasAcknowledgedBeforeMustBeOnTheNextMajority) {
    become_primary();
    config_.version = 2;
    config_.voters.push_back({3, 1});
    election_->reported(1, kGen, 1, 1, {1, 20}, now_);
    election_->reconfigure(config_, now_);
    run();
    ASSERT_EQ(election_->config().version, 2);
    config_.version = 3;
    election_->reported(1, kGen, 1, 2, {1, 20}, now_);
    election_->reported(2, kGen, 1, 2, {0, 9}, now_);
    forget();
    election_->reconfigure(config_, now_);
    run();
    EXPECT_NE(take<Outcome>()[0].refusal, "");
    election_->reported(2, kGen, 1, 2, {1, 20}, now_);
    election_->reconfigure(config_, now_);
    run();
    EXPECT_EQ(take<Outcome>()[1].refusal, "");
}

TEST_F(ElectionTest, APrimaryTakesTheNextTermWhereItsOwnIsSealed) {
    become_primary();
    forget();
    election_->heard(2, heartbeat(1, false, 1), now_);
    run();
    EXPECT_EQ(value("term"), "t=2 primary=0 start=own config=1 gen=g");
    ASSERT_EQ(take<BecomePrimary>().size(), 1u);
    EXPECT_TRUE(take<BecomePrimary>()[0].is_renewed);
    EXPECT_TRUE(take<BecomeSecondary>().empty());
    EXPECT_EQ(compared(),
              (std::vector<std::string>{"term t=1 primary=0 start=own config=1 gen=g"}));
}

TEST_F(ElectionTest, WhoHearsOfALaterTermIsNoPrimaryAnyMore) {
    become_primary();
    put("term", "t=2 primary=2 start=of2 config=1 gen=g");
    forget();
    election_->heard(2, heartbeat(2, true), now_);
    EXPECT_EQ(election_->phase(), Phase::following);
    run();
    ASSERT_EQ(take<BecomeSecondary>().size(), 1u);
    EXPECT_EQ(election_->followed(), 2);
}

TEST_F(ElectionTest, APrimaryThatHandsOverSealsItsTerm) {
    become_primary();
    forget();
    election_->hand_over(2, now_);
    run();
    EXPECT_EQ(value(kSeal1 + "0"), "1,0,20");
    EXPECT_EQ(take<BecomeSecondary>().size(), 1u);
    ASSERT_EQ(take<TellHeir>().size(), 1u);
    EXPECT_EQ(take<TellHeir>()[0].member, 2);
    // It leaves the term to the heir for a while.
    put(kSeal1 + "1", "1,0,20");
    tick(kTimeout / 2);
    EXPECT_EQ(election_->phase(), Phase::sealed);
    tick(kTimeout);
    EXPECT_EQ(election_->phase(), Phase::primary);
}

TEST_F(ElectionTest, APrimaryThatCannotServeLeavesTheSetToOthers) {
    become_primary();
    forget();
    election_->give_up("no room", now_);
    tick();
    ASSERT_EQ(take<BecomeSecondary>().size(), 1u);
    EXPECT_EQ(take<BecomeSecondary>()[0].why, "no room");
    EXPECT_FALSE(election_->heartbeat().is_primary);
    EXPECT_TRUE(take<Ask>().empty());
    tick(2 * kTimeout);
    EXPECT_FALSE(take<Ask>().empty());
}

TEST_F(ElectionTest, TheHeirStandsAtOnce) {
    begin_set();
    make();
    election_->heard(1, heartbeat(1, true), now_);
    put(kSeal1 + "1", "1,0,10");
    forget();
    election_->step_up(kGen, 1, now_);
    run();
    EXPECT_EQ(take<Ask>()[0], (Ask{1, Question::resigned, kGen, 1}));
    EXPECT_EQ(election_->phase(), Phase::primary);
}

TEST_F(ElectionTest, APriorityOfZeroNeverStands) {
    config_.voters[0].priority = 0;
    lose_primary();
    tick(3 * kTimeout);
    EXPECT_TRUE(take<Ask>().empty());
    election_->asked(7, kGen, 1, Question::seal, now_);
    put(kSeal1 + "2", "1,0,9");
    run();
    tick(200);
    EXPECT_EQ(election_->phase(), Phase::sealed);
}

TEST_F(ElectionTest, WhatOnlyOneOfPriorityZeroHasIsReadFromIt) {
    config_.voters[2].priority = 0;
    seal();
    put(kSeal1 + "2", "1,0,12");
    tick(200);
    ASSERT_EQ(take<CatchUp>().size(), 1u);
    EXPECT_EQ(take<CatchUp>()[0].member, 2);
    election_->moved({1, 12}, {1, 12});
    tick(200);
    EXPECT_EQ(election_->phase(), Phase::primary);
}

TEST_F(ElectionTest, AHigherPriorityIsWaitedFor) {
    config_.voters[2].priority = 2;
    seal();
    put(kSeal1 + "2", "1,0,10");
    election_->agreed(2, 1, Question::seal, true, now_);
    run();
    EXPECT_EQ(election_->phase(), Phase::sealed);
    tick(50);
    EXPECT_EQ(election_->phase(), Phase::primary);
}

TEST_F(ElectionTest, ACoordinatorThatLostTheSetIsToldOfIt) {
    begin_set();
    make();
    coordinator_.lose_all();
    forget();
    election_->rebuild(now_);
    run();
    const std::vector<AskKnown> asked = take<AskKnown>();
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(value("term"), "none");
    election_->told(2, asked[0].round + 1, {.term = 4, .config = 1, .is_blank = false}, now_);
    election_->told(1, asked[0].round, {.term = 4, .config = 1, .is_blank = true}, now_);
    run();
    EXPECT_EQ(value("term"), "none");
    election_->told(2, asked[0].round, {.term = 3, .config = 1, .is_blank = false}, now_);
    run();
    EXPECT_EQ(value("term").substr(0, 31), "t=1004 primary=-1 start=none co");
    EXPECT_EQ(take<Outcome>()[0].refusal, "");
    EXPECT_EQ(election_->phase(), Phase::following);
    EXPECT_EQ(value("member/0"), "start=own starts=5");
}

TEST_F(ElectionTest, TheNewestConfigurationIsPutBack) {
    begin_set();
    make();
    coordinator_.lose_all();
    election_->rebuild(now_);
    run();
    const std::vector<AskKnown> asked = take<AskKnown>();
    ASSERT_FALSE(asked.empty());
    election_->told(2, asked[0].round, {.term = 1, .config = 2, .is_blank = false}, now_);
    run();
    EXPECT_EQ(take<Outcome>()[0].refusal, "member 2 has a later configuration: force it there");
    EXPECT_EQ(value("term"), "none");
}

TEST_F(ElectionTest, ACoordinatorThatKnowsTheSetIsNotToldOfIt) {
    begin_set();
    make();
    election_->rebuild(now_);
    run();
    EXPECT_EQ(take<Outcome>()[0].refusal, "the coordinator knows the set");
    EXPECT_TRUE(take<AskKnown>().empty());
}

TEST_F(ElectionTest, AVacantTermNeedsSealsToo) {
    begin_set(kNoMember, "");
    make();
    EXPECT_EQ(election_->phase(), Phase::following);
    EXPECT_EQ(election_->followed(), kNoMember);
    tick();
    EXPECT_FALSE(take<Ask>().empty());
    EXPECT_EQ(value("term").substr(0, 4), "t=1 ");
}

TEST_F(ElectionTest, WhatTheCoordinatorCannotHaveIsSaid) {
    for (const auto& [key, text] : {std::pair<const char*, const char*>{"term", "t=x"},
                                    {"term", ""},
                                    {"config", "version=9 voters=0:1\n{}"},
                                    {"config", "voters"},
                                    {"member/1", "start=a"},
                                    {"member/x", "start=a starts=1"},
                                    {"seal/0000000000000001/1", "1,2"}}) {
        coordinator_.lose_all();
        begin_set();
        make();
        forget();
        put(key, text);
        tick(6000);
        EXPECT_NE(election_->problem().find(key), std::string::npos) << election_->problem();
        EXPECT_EQ(election_->followed(), 1);
    }
}

TEST_F(ElectionTest, ACoordinatorOfAnEarlierTimeIsNotFollowed) {
    begin_set();
    put("term", "t=5 primary=1 start=of1 config=1 gen=g");
    make();
    put("term", "t=4 primary=2 start=of2 config=1 gen=g");
    forget();
    tick(6000);
    EXPECT_EQ(election_->followed(), 1);
    const std::string why = election_->problem();
    EXPECT_TRUE(why.starts_with("the coordinator knows only term 4, and this member 5")) << why;
    forget();
    election_->rebuild(now_);
    tick(6000);
    ASSERT_FALSE(take<Outcome>().empty());
    EXPECT_EQ(take<Outcome>()[0].refusal, why);
    EXPECT_EQ(election_->drop_rebuild(), "");  // it is not to be done later
    coordinator_.lose_all();
    forget();
    tick(6000);
    EXPECT_TRUE(election_->problem().starts_with("the coordinator knows nothing of the set"));
}

TEST_F(ElectionTest, TwoProcessesOfOneMemberAreSaid) {
    begin_set();
    make();
    put("member/0", "start=other starts=9");
    forget();
    tick(6000);
    EXPECT_FALSE(election_->problem().empty());
    EXPECT_EQ(value("member/0"), "start=other starts=9");
}

}  // namespace
}  // namespace election
