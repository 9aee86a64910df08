// A short campaign with each build, and whether a campaign finds what it is there for: on a disk
// that ignores one kind of sync, something must get lost.
#include "crash/testing/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/testing/muted.h"
#include "bson/testing/json.h"
#include "crash/testing/live_server.h"
#include "crash/testing/state_check.h"
#include "os/testing/choices.h"

namespace crash {
namespace {

using Call = os::SimFileSystem::Call;

class CrashCampaign : public testing::Test {
  protected:
    // Thousands of recoveries would log hundreds of thousands of lines.
    const base::MutedLog muted_;
};

TEST_F(CrashCampaign, EveryStateOfSomeHistoriesIsRecovered) {
    Plan plan;
    plan.states = 2500;  // fewer of them do not come everywhere
    const Outcome outcome = run_campaign(plan, nullptr);
    for (const std::string& fault : outcome.faults)
        ADD_FAILURE() << fault;
    EXPECT_GE(outcome.states, plan.states);
    EXPECT_GT(outcome.validated, 0u);
    EXPECT_GT(outcome.failed_calls, 0u);
    EXPECT_GT(outcome.deaths, 0u);
    EXPECT_GT(outcome.refused, 0u);
    for (const uint64_t deeper : outcome.deeper)
        EXPECT_GT(deeper, 0u);
    const Situation all = outcome.option_choices > 1 ? Situation::how_many : kFirstOfPatches;
    for (size_t i = 0; i < static_cast<size_t>(all); ++i)
        EXPECT_GT(outcome.met[i], 0u) << name_of(static_cast<Situation>(i));
    EXPECT_GE(outcome.option_choices_met,
              std::min<uint64_t>(outcome.option_choices, kLivesAtLeast * outcome.histories));
}

TEST_F(CrashCampaign, ACallAtWhichNoStateIsTakenIsNoSuccess) {
    Plan plan;
    plan.only_history = 3;
    plan.only_call = UINT64_MAX;
    const Outcome outcome = run_campaign(plan, nullptr);
    ASSERT_EQ(outcome.faults.size(), 1u);
    EXPECT_TRUE(outcome.faults[0].starts_with("--seed 1 --at 3:")) << outcome.faults[0];
}

// An error that a campaign finds in the state is therefore found again in that state alone.
TEST_F(CrashCampaign, AStateIsCheckedInTheSameWayWhateverWasMetBefore) {
    constexpr uint64_t kSeed = 5;
    const Setting setting = make_setting(kSeed, 0);
    Setting first_life;
    std::vector<State> states;
    uint64_t lives = 0;
    {
        const auto begins = [&](const Setting& of_life) {
            if (lives++ == 0) first_life = of_life;
            of_life.apply_options();
        };
        History history(kSeed, 0, setting, {}, begins, [&](State state) {
            if (lives == 1) states.push_back(std::move(state));
        });
        history.run();
    }
    ASSERT_GT(states.size(), 100u);
    first_life.apply_options();
    Known met;
    CheckCounts among_others, alone;
    for (State& state : states) {
        State again;
        again.disk = state.disk->process_kill();
        again.accepted = state.accepted;
        again.journal = state.journal;
        again.killed = state.killed;
        again.seed = state.seed;
        Known nothing;
        EXPECT_EQ(check_state(std::move(state), first_life, met, among_others), "");
        EXPECT_EQ(check_state(std::move(again), first_life, nothing, alone), "");
        ASSERT_EQ(among_others.states, alone.states);
        ASSERT_EQ(among_others.gone_on, alone.gone_on);
    }
    EXPECT_GT(alone.gone_on, 0u);
    Setting().apply_options();
}

TEST(CrashSettings, AThirdAsManyHistoriesMeetEveryChoiceOfOptions) {
    std::set<std::set<std::string>> met;
    for (uint64_t history = 0; history * kLivesAtLeast < option_choices(); ++history) {
        for (uint64_t life = 0; life < kLivesAtLeast; ++life) {
            std::set<std::string> names;
            for (const auto& [name, value] : make_options(1, option_choice(history, life)))
                names.insert(name);
            met.insert(names);
        }
    }
    EXPECT_EQ(met.size(), option_choices());
}

struct Lie {
    const char* name;
    Call call;
    const char* path_part;
};

class LyingDisk : public CrashCampaign, public testing::WithParamInterface<Lie> {};

TEST_P(LyingDisk, IsFoundOut) {
    Plan plan;
    plan.states = 20000;  // it ends with the first fault, long before
    plan.most_faults = 1;
    plan.lies = {{GetParam().call, GetParam().path_part}};
    EXPECT_FALSE(run_campaign(plan, nullptr).faults.empty());
}

// A process is killed between the writing and the syncing of a section; the power is cut at each
// call of the recovery, which has to sync that section before any data file has a part of it.
// Returns how many of these cuts leave something else than the commit before or this one.
int losses_of_a_recovery(const Setting& setting, int* cuts) {
    std::unique_ptr<os::SimFileSystem> killed;
    std::vector<ImagePtr> accepted;
    const auto disk = setting.make_disk();
    // After a clean stop the journal holds nothing that would restore what the next commit loses.
    for (const int life : {1, 2}) {
        os::StepClock clock;
        LiveServer server(*disk, clock, setting.engine_options(true));
        server.prepare();
        accepted.push_back(image_of(*disk));
        disk->set_observer([&](const os::SimFileSystem::Event& event) {
            if (life == 1 || killed || event.call != Call::sync_data ||
                !os::base_name(event.path).starts_with("j._"))
                return;
            accepted.push_back(image_of(*disk));
            killed = disk->process_kill();
        });
        const std::string command = fmt::format(
            R"({{"insert": "c", "documents": [{{"_id": {}}}], "writeConcern": {{"j": true}}}})",
            life);
        {
            const auto exchange = server.begin("a", bson::from_json(command), [] {});
            server.finish(*exchange, [] { return true; });
            EXPECT_TRUE(succeeded(exchange->reply()));
        }
        disk->set_observer(nullptr);
        if (life == 1) server.stop();
    }
    accepted.erase(accepted.begin());  // before the first life
    int losses = 0;
    Known known;
    CheckCounts counts;
    for (*cuts = 0; killed; ++*cuts) {
        const auto recovered = killed->process_kill();
        std::unique_ptr<os::SimFileSystem> cut;
        int calls = 0;
        recovered->set_observer([&](const os::SimFileSystem::Event&) {
            os::SampledChoices nothing_unsynced_survives(0);
            if (calls++ == *cuts)
                cut = recovered->power_cut(nothing_unsynced_survives, setting.sector_bytes);
        });
        {
            os::StepClock clock;
            clock.run_free();
            const auto engine =
                mmapv1::open_engine(setting.quick_engine_options(true), *recovered, clock);
            recovered->set_observer(nullptr);
        }
        if (!cut) break;
        State state;
        state.disk = std::move(cut);
        state.accepted = accepted;
        constexpr int kNoDeeper = 3;
        losses += !check_state(std::move(state), setting, known, counts, kNoDeeper).empty();
    }
    return losses;
}

// A campaign may take thousands of states to find it by chance alone.
TEST_F(CrashCampaign, ALieAboutWholeJournalFilesShowsInTheRecoveryOfAKilledProcess) {
    Setting setting;
    setting.nopreallocj = true;
    setting.journal_file_bytes = 64 << 10;
    int cuts = 0;
    EXPECT_EQ(losses_of_a_recovery(setting, &cuts), 0);
    EXPECT_GT(cuts, 20);
    setting.lies = {{Call::sync, "/journal/"}};
    EXPECT_GT(losses_of_a_recovery(setting, &cuts), 0);
    EXPECT_GT(cuts, 20);
}

// Each is found within some hundred states.
constexpr Lie kLies[] = {
    {"AboutSections", Call::sync_data, "/journal/j._"},
    {"AboutNamesInTheJournal", Call::sync_directory, "/journal"},
    {"AboutNewDataFiles", Call::sync, "/_tmp/"},
    {"AboutNamesOfDataFiles", Call::sync_directory, "/db"},
    {"AboutPagesOfDataFiles", Call::sync_mapping, "/db/"},
    {"AboutTheLockFile", Call::sync, "mongod.lock"},
};
INSTANTIATE_TEST_SUITE_P(CrashCampaign, LyingDisk, testing::ValuesIn(kLies),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace crash
