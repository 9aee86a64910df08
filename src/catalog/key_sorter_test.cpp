#include "catalog/key_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "os/testing/directory.h"

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

TEST(KeySorter, RunsAreTheOwnersAloneAndGoWithTheSorter) {
    namespace fs = std::filesystem;
    const os::TestDirectory home;
    const std::string directory = os::join(home.path(), "_tmp");
    {
        KeySorter sorter(0, directory, 1000);
        for (int i = 0; i < 500; ++i)
            sorter.add(bson::make("", i), storage::RecordId{1});
        sorter.finish();
        size_t files = 0;
        for (const auto& entry : fs::directory_iterator(directory)) {
            ++files;
            EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
        }
        EXPECT_EQ(files, sorter.runs());
        EXPECT_GT(files, 5u);
    }
    EXPECT_TRUE(fs::is_empty(directory));
}

TEST(KeySorter, KeysLongerThanWhatIsReadAtOnce) {
    const os::TestDirectory home;
    KeySorter sorter(0, home.path(), 1 << 20);
    constexpr int kKeys = 9;
    for (int i = kKeys; i > 0; --i)
        sorter.add(bson::make("", std::to_string(i) + std::string(400'000, 'x')),
                   storage::RecordId{1});
    sorter.finish();
    EXPECT_GT(sorter.runs(), 2u);
    bson::Doc key;
    storage::RecordId id;
    for (int i = 1; i <= kKeys; ++i) {
        ASSERT_TRUE(sorter.next(&key, &id));
        const std::string_view text = key.first().as_string();
        EXPECT_EQ(text.size(), 400'001u);
        EXPECT_EQ(text.substr(0, 2), std::to_string(i) + "x");
    }
    EXPECT_FALSE(sorter.next(&key, &id));
}

TEST(KeySorter, AFolderThatCannotBeMadeIsNamed) {
    const os::TestDirectory home;
    const std::string taken = os::join(home.path(), "taken");
    os::real_file_system().open(taken, {.access = os::Access::write, .create = true});
    KeySorter sorter(0, taken, 100);
    try {
        for (int i = 0; i < 50; ++i)
            sorter.add(bson::make("", i), storage::RecordId{1});
        FAIL() << "written";
    } catch (const base::Error& e) {
        EXPECT_EQ(e.code(), 14031);
        EXPECT_NE(std::string(e.what()).find(taken), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace catalog
