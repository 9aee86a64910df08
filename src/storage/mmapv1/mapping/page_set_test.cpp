#include "storage/mmapv1/mapping/page_set.h"

#include <gtest/gtest.h>

#include <string>

namespace mmapv1 {
namespace {

constexpr uint64_t kMB = 1 << 20;

// "first page+pages" of each range.
std::string shown(const PageSet& set, uint64_t most_bytes = UINT64_MAX) {
    std::string text;
    for (const auto [begin, bytes] : set.ranges(most_bytes)) {
        EXPECT_EQ(begin % PageSet::kPageBytes, 0u);
        EXPECT_EQ(bytes % PageSet::kPageBytes, 0u);
        text += std::to_string(begin / PageSet::kPageBytes) + "+" +
                std::to_string(bytes / PageSet::kPageBytes) + " ";
    }
    return text;
}

TEST(PageSet, HasEachPageOnce) {
    PageSet set;
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(shown(set), "");
    EXPECT_EQ(set.note(10, 1), 1u);
    EXPECT_EQ(set.note(4095, 1), 0u);
    EXPECT_EQ(set.note(4095, 2), 1u);
    EXPECT_EQ(set.note(3 * 1024 * kMB, 1), 1u);
    EXPECT_EQ(set.note(3 * 4096, 4096), 1u);
    EXPECT_FALSE(set.empty());
    EXPECT_EQ(shown(set), "0+2 3+1 786432+1 ");
}

TEST(PageSet, ARangeHasAnyLengthOrTheOneThatIsAskedFor) {
    PageSet set;
    EXPECT_EQ(set.note(kMB / 4 - 1, kMB / 4 + 2), 66u);
    EXPECT_EQ(shown(set), "63+66 ");
    EXPECT_EQ(shown(set, kMB / 4), "63+64 127+2 ");
    EXPECT_EQ(set.note(0, kMB), 256u - 66u);
    EXPECT_EQ(shown(set), "0+256 ");
    EXPECT_EQ(shown(set, 100 * 4096 + 5), "0+100 100+100 200+56 ");
}

TEST(PageSet, RangesAreInOrder) {
    PageSet set;
    for (const uint64_t page : {900u, 20u, 22u, 21u, 300u})
        EXPECT_EQ(set.note(page * 4096, 1), 1u);
    EXPECT_EQ(shown(set), "20+3 300+1 900+1 ");
}

TEST(PageSet, IsEmptyAgain) {
    PageSet set;
    set.note(0, 9000);
    set.clear();
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.note(0, 9000), 3u);
    EXPECT_EQ(shown(set), "0+3 ");
}

}  // namespace
}  // namespace mmapv1
