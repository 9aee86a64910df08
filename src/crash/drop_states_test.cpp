// Databases that are dropped and made again: at each call to the disk the process is killed, the
// power is cut, or that call fails; clients go on, on what this has left. Each state after that
// must show one of the commits that may be there.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "base/error.h"
#include "base/testing/effort.h"
#include "base/testing/muted.h"
#include "base/testing/slice.h"
#include "crash/testing/history.h"

namespace crash {
namespace {

using Step = Script::Step;

void end_if_expected(int, std::string_view) {
    History::end_if_expected();
}

struct Kind {
    const char* name;
    bool directory_per_db, file_in_advance, own_device;
};

class Drops : public testing::TestWithParam<Kind> {
  protected:
    Setting setting() const {
        Setting setting;
        setting.directory_per_db = GetParam().directory_per_db;
        setting.own_device = GetParam().own_device;
        setting.nopreallocj = true;
        setting.journal_file_bytes = 64 << 10;
        setting.calls_fail = true;
        return setting;
    }
    Step insert(const std::string& db) {
        return {"insert", db,
                fmt::format(R"({{"insert": "c", "documents": [{{"_id": {}}}], )"
                            R"("writeConcern": {{"j": true}}}})",
                            next_id_++)};
    }
    // Two of these do not fit into one data file.
    static Step large(const std::string& db, int n) {
        return {"createLarge", db,
                fmt::format(R"({{"create": "large{}", "capped": true, "size": {}, )"
                            R"("writeConcern": {{"j": true}}}})",
                            n, 9 << 20)};
    }
    static Step drop(const std::string& db) {
        return {"dropDatabase", db, R"({"dropDatabase": 1})"};
    }
    std::vector<Step> steps() {
        std::vector<Step> all{insert("a"), insert("b"), large("a", 0)};
        if (GetParam().file_in_advance)
            all.push_back({GetParam().directory_per_db ? "a/a.1" : "a.1", "", ""});
        for (const Step& step : {large("a", 1), insert("b"), drop("a"), insert("b"), insert("a"),
                                 large("a", 0), large("a", 1), drop("b"), insert("a")})
            all.push_back(step);
        return all;
    }

    // One history; returns how many calls it has. States: of so many calls of a hundred.
    uint64_t run(const Script& script, int percent) {
        std::vector<State> found;
        History::Wanted wanted;
        wanted.script = &script;
        wanted.percent_per_call = wanted.percent_per_sync = percent;
        History history(
            1 + script.at_call, 0, setting(), wanted, [](const Setting&) {},
            [&](State state) { found.push_back(std::move(state)); });
        const std::string where = fmt::format("disturbed at call {} in way {}: ", script.at_call,
                                              static_cast<int>(script.disturbance));
        try {
            history.run();
        } catch (const std::exception& error) {
            ADD_FAILURE() << where << error.what();
        }
        for (State& state : found) {
            const std::string id = state.id;
            const std::string fault = check_state(std::move(state), setting(), known_, counts_);
            if (!fault.empty()) ADD_FAILURE() << where << id << ": " << fault;
        }
        return history.calls();
    }

    // Thousands of recoveries would log hundreds of thousands of lines.
    const base::MutedLog muted_;
    const base::FatalScope ending_{end_if_expected};
    CheckCounts counts_;

  private:
    Known known_;
    int next_id_ = 0;
};

TEST_P(Drops, ShowWhatMayBeThereWhateverBefallsACall) {
    Script script;
    script.lives = {steps(), steps()};
    const uint64_t calls = run(script, 20);
    ASSERT_GT(calls, 150u);
    base::Slice slice = base::test_slice(25);
    const int percent = std::min(base::test_effort(10), 100);
    using Disturbance = Script::Disturbance;
    for (const Disturbance each : {Disturbance::kill, Disturbance::cut, Disturbance::fail}) {
        for (uint64_t call = 1; call <= calls && !HasFailure(); ++call) {
            if (!slice.takes_next()) continue;
            script.disturbance = each;
            script.at_call = call;
            run(script, percent);
        }
    }
    std::cout << calls << " calls; " << counts_.states << " states" << std::endl;
    EXPECT_GT(counts_.deeper[2], 0u);
}

INSTANTIATE_TEST_SUITE_P(Databases, Drops,
                         testing::Values(Kind{"OfOneFolder", false, false, false},
                                         Kind{"OfOneFolderWithAFileInAdvance", false, true, true},
                                         Kind{"OfFolders", true, false, true},
                                         Kind{"OfFoldersWithAFileInAdvance", true, true, false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace crash
