// A short campaign with each build: all kinds of operations, cuts down to depth 3.
#include "crash/testing/campaign.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/testing/effort.h"

namespace crash {
namespace {

TEST(CrashCampaign, EveryStateOfSomeHistoriesComesBack) {
    base::log::set_sink([](base::log::Severity, std::string_view) {});
    Plan plan;
    plan.states = static_cast<uint64_t>(base::test_effort(1500));
    const Outcome outcome = run_campaign(plan, nullptr);
    base::log::set_sink(nullptr);
    for (const std::string& fault : outcome.faults)
        ADD_FAILURE() << fault;
    EXPECT_GE(outcome.states, plan.states);
    EXPECT_GT(outcome.validated, 0u);
    for (const uint64_t deeper : outcome.deeper)
        EXPECT_GT(deeper, 0u);
}

}  // namespace
}  // namespace crash
