#include "catalog/key_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace catalog {
namespace {

using Entry = std::pair<int, uint64_t>;

std::vector<Entry> sorted(std::vector<Entry> entries, uint32_t descending, size_t memory,
                          size_t* runs) {
    KeySorter sorter(descending, testing::TempDir(), memory);
    for (const auto& [value, id] : entries)
        sorter.add(bson::make("", value), storage::RecordId{id});
    sorter.finish();
    *runs = sorter.runs();
    std::vector<Entry> out;
    bson::Doc key;
    storage::RecordId id;
    while (sorter.next(&key, &id))
        out.emplace_back(key.first().as_int32(), id.value);
    return out;
}

std::vector<Entry> random_entries(size_t count) {
    std::mt19937 generator(7);
    std::vector<Entry> entries;
    for (size_t i = 0; i < count; ++i)
        entries.emplace_back(static_cast<int>(generator() % 100), generator());
    return entries;
}

TEST(KeySorter, InMemoryByKeyThenRecord) {
    std::vector<Entry> entries = random_entries(2000);
    size_t runs = 0;
    const auto got = sorted(entries, 0, KeySorter::kDefaultMemory, &runs);
    std::ranges::sort(entries);
    EXPECT_EQ(got, entries);
    EXPECT_EQ(runs, 0u);
}

TEST(KeySorter, RunsOnDiskGiveTheSameOrder) {
    std::vector<Entry> entries = random_entries(20000);
    size_t runs = 0;
    const auto got = sorted(entries, 0, 40000, &runs);
    std::ranges::sort(entries);
    EXPECT_EQ(got, entries);
    EXPECT_GT(runs, 5u);
}

TEST(KeySorter, DescendingKeysKeepRecordsAscending) {
    std::vector<Entry> entries = {{1, 5}, {2, 9}, {2, 4}, {3, 1}};
    size_t runs = 0;
    EXPECT_EQ(sorted(entries, 1, KeySorter::kDefaultMemory, &runs),
              (std::vector<Entry>{{3, 1}, {2, 4}, {2, 9}, {1, 5}}));
}

}  // namespace
}  // namespace catalog
