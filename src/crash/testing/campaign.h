// crash/testing/campaign.h - histories one after the other, and their states checked by several
// threads, until there are as many as wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/testing/fatal_handler.h"
#include "crash/testing/history.h"

namespace crash {

struct Plan {
    uint64_t seed = 1;
    uint64_t states = 20000;
    int threads = 1;            // that check states
    uint64_t only_history = 0;  // with only_call: this state alone
    uint64_t only_call = 0;
    uint64_t most_faults = 10;  // the campaign ends with so many
    std::vector<std::pair<os::SimFileSystem::Call, std::string>> lies;  // as in Setting
    // Called in a process whose server ends itself and should not.
    base::FatalHandler ends = nullptr;
};

struct Outcome {
    uint64_t states = 0;
    uint64_t deeper[3]{};  // of these, cuts during a recovery, during that one's, ...
    uint64_t histories = 0, lives = 0, calls = 0, validated = 0, gone_on = 0;
    uint64_t refused = 0;                   // starts after a life without a journal
    uint64_t failed_calls = 0, deaths = 0;  // calls that failed; servers that this has ended
    size_t option_choices = 0, option_choices_met = 0;
    DoneByName done;
    Met met{};
    std::vector<std::string> faults;  // each with what finds it again
};

// `progress` is called now and then with how many states have been checked. One at a time: it
// handles fatal errors of the process while it runs.
Outcome run_campaign(const Plan& plan, const std::function<void(uint64_t)>& progress);

// The name of the current state, for a handler that runs when the process ends in the middle of it.
std::string state_under_way();

}  // namespace crash
