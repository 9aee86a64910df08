#include "journal/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "journal/testing/metrics_of.h"

namespace journal {
namespace {

std::vector<StatusField> metrics() {
    return {{"one", 1}, {"more", 0, {{"two", 2}}}};
}

const MetricsRegistration g_second("unitTestZ", metrics);
const MetricsRegistration g_first("unitTestA", metrics);

TEST(Metrics, SourcesAreListedByName) {
    const auto sources = metrics_sources();
    EXPECT_TRUE(std::is_sorted(sources.begin(), sources.end(),
                               [](const auto& a, const auto& b) { return a.name < b.name; }));
    ASSERT_EQ(metrics_of("unitTestA").size(), 2u);
    EXPECT_EQ(metrics_of("unitTestA").at(1).group.at(0).value, 2);
    EXPECT_TRUE(metrics_of("unitTest").empty());
}

}  // namespace
}  // namespace journal
