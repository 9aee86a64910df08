#include "journal/figures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "journal/testing/figures_of.h"

namespace journal {
namespace {

std::vector<Figure> figures() {
    return {{"one", 1}, {"more", 0, {{"two", 2}}}};
}

const FigureRegistration g_second("unitTestZ", figures);
const FigureRegistration g_first("unitTestA", figures);

TEST(Figures, SourcesAreListedByName) {
    const auto sources = figure_sources();
    EXPECT_TRUE(std::is_sorted(sources.begin(), sources.end(),
                               [](const auto& a, const auto& b) { return a.name < b.name; }));
    ASSERT_EQ(figures_of("unitTestA").size(), 2u);
    EXPECT_EQ(figures_of("unitTestA").at(1).group.at(0).value, 2);
    EXPECT_TRUE(figures_of("unitTest").empty());
}

}  // namespace
}  // namespace journal
