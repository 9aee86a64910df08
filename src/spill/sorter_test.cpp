#include "spill/sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "os/testing/bytes_written.h"
#include "os/testing/directory.h"
#include "sched/operation.h"
#include "sched/testing/failing_memory.h"

namespace spill {
namespace {

namespace fs = std::filesystem;

// An entry is a number that it is sorted by, its place in the input, and filling.
struct Order {
    using Item = uint32_t;
    void read(std::span<const uint8_t> entry, Item& item) const {
        std::memcpy(&item, entry.data(), sizeof item);
    }
    bool before(Item a, Item b) const { return a < b; }
};

struct Entry {
    uint32_t key = 0, place = 0;
    std::string filling;
    bool operator==(const Entry&) const = default;
};

std::vector<Entry> random_entries(size_t count, size_t filling_max) {
    std::mt19937 generator(11);
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < count; ++i)
        entries.push_back(
            {static_cast<uint32_t>(generator() % 50), i,
             std::string(generator() % (filling_max + 1), static_cast<char>('a' + i % 26))});
    return entries;
}

void add(Sorter<Order>& sorter, const Entry& entry) {
    const uint32_t head[] = {entry.key, entry.place};
    sorter.add({reinterpret_cast<const uint8_t*>(head), sizeof head}, {},
               {reinterpret_cast<const uint8_t*>(entry.filling.data()), entry.filling.size()});
}

std::vector<Entry> take_all(Sorter<Order>& sorter) {
    std::vector<Entry> out;
    while (sorter.next() != nullptr) {
        const auto bytes = sorter.entry();
        Entry& entry = out.emplace_back();
        std::memcpy(&entry.key, bytes.data(), 4);
        std::memcpy(&entry.place, bytes.data() + 4, 4);
        entry.filling.assign(reinterpret_cast<const char*>(bytes.data()) + 8, bytes.size() - 8);
    }
    return out;
}

size_t files_in(const std::string& folder) {
    if (!fs::exists(folder)) return 0;
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class SorterTest : public testing::Test {
  protected:
    // Sorts, and compares with a stable sort in memory. Returns how many runs were left to merge.
    size_t check(std::vector<Entry> entries, size_t memory) {
        Sorter<Order> sorter({}, folder_, Folder::Use::operation, memory);
        size_t files_max = 0;
        for (const Entry& entry : entries) {
            add(sorter, entry);
            if (entry.place % 64 == 0) files_max = std::max(files_max, files_in(folder_));
        }
        sorter.finish();
        const size_t runs = sorter.runs();
        const size_t of_values = std::ranges::any_of(
            entries, [](const Entry& e) { return e.filling.size() >= Values::kLargeBytes; });
        EXPECT_EQ(files_in(folder_), runs == 0 ? 0 : runs + of_values);
        EXPECT_LE(files_max, 4 * kRunsAtOnce);
        std::ranges::stable_sort(entries, {}, &Entry::key);
        EXPECT_EQ(take_all(sorter), entries);
        return runs;
    }

    const os::TestDirectory home_;
    const std::string folder_ = os::join(home_.path(), "_tmp");
};

TEST_F(SorterTest, InMemory) {
    EXPECT_EQ(check(random_entries(3000, 20), 1 << 20), 0U);
    EXPECT_EQ(check({}, 1 << 20), 0U);
    EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(SorterTest, EqualEntriesKeepTheirOrderThroughRuns) {
    EXPECT_GT(check(random_entries(3000, 20), 10'000), 5U);
}

// Merged in several passes, so that few files are open.
TEST_F(SorterTest, MoreRunsThanAreReadAtOnce) {
    const size_t runs = check(random_entries(40'000, 8), 1000);
    EXPECT_GT(runs, 1U);
    EXPECT_LE(runs, 2 * kRunsAtOnce);
}

TEST_F(SorterTest, EntriesLargerThanWhatIsReadAtOnce) {
    EXPECT_GT(check(random_entries(40, 900'000), 2'000'000), 1U);
}

// However many runs there are, and though no two of them would fit into the memory of a merge.
TEST_F(SorterTest, LargeTailsAreWrittenOnce) {
    const int64_t before = os::bytes_written_by_this_thread();
    std::vector<Entry> entries;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < 150; ++i) {
        entries.push_back({(i * 7) % 50, i, std::string((1 << 20) + i, 'a')});
        bytes += static_cast<int64_t>(entries.back().filling.size());
    }
    EXPECT_GT(check(std::move(entries), 1 << 20), 1U);
    EXPECT_LT(os::bytes_written_by_this_thread() - before, bytes + bytes / 100);
}

// Two passes for what 32 * 32 runs hold: to the first runs, and to the merged ones.
TEST_F(SorterTest, SmallEntriesAreWrittenOncePerPass) {
    const int64_t before = os::bytes_written_by_this_thread();
    std::vector<Entry> entries = random_entries(20'000, 400);
    int64_t bytes = 0;
    for (const Entry& entry : entries)
        bytes += static_cast<int64_t>(entry.filling.size()) + 12;
    EXPECT_GT(check(std::move(entries), bytes / 200), 1U);
    EXPECT_LT(os::bytes_written_by_this_thread() - before, bytes * 2);
}

// The merge has to hold the heads that it compares in memory, one for each run.
TEST_F(SorterTest, LargeHeadsAreMergedByPairs) {
    Sorter<Order> sorter({}, folder_, Folder::Use::operation, 1 << 20);
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < 9; ++i) {
        entries.push_back({(i * 7) % 5, i, std::string(8 << 20, static_cast<char>('a' + i))});
        const uint32_t head[] = {entries[i].key, i};
        sorter.add({reinterpret_cast<const uint8_t*>(head), sizeof head},
                   {reinterpret_cast<const uint8_t*>(entries[i].filling.data()), 8 << 20});
    }
    sorter.finish();
    EXPECT_LE(sorter.runs(), 3U);
    std::ranges::stable_sort(entries, {}, &Entry::key);
    EXPECT_EQ(take_all(sorter), entries);
}

TEST_F(SorterTest, FilesAreTheOwnersAloneAndGoWithTheSorter) {
    {
        Sorter<Order> sorter({}, folder_, Folder::Use::operation, 1000);
        for (const Entry& entry : random_entries(200, 20))
            add(sorter, entry);
        EXPECT_GT(files_in(folder_), 0U);
        for (const auto& file : fs::directory_iterator(folder_))
            EXPECT_EQ(file.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
        EXPECT_GT(bytes_on_disk(), 0);
    }
    EXPECT_EQ(files_in(folder_), 0U);
    EXPECT_EQ(bytes_on_disk(), 0);
}

// The end of an operation that has used its memory up is where they go.
TEST_F(SorterTest, TheyGoWithoutAnyMemory) {
    sched::Operation operation;
    operation.start();
    const sched::Operation::Scope scope(&operation);
    for (int64_t nth = 1; nth < 20; ++nth) {
        Folder folder(folder_, Folder::Use::operation);
        {
            const spill::Run run(folder);
            EXPECT_EQ(files_in(folder_), 1U);
            sched::test::fail_allocation(nth);
        }
        EXPECT_FALSE(sched::test::fail_allocation(0));
        EXPECT_EQ(files_in(folder_), 0U);
    }
}

TEST_F(SorterTest, AllFilesTogetherHaveALimit) {
    set_limit(50'000);
    {
        Sorter<Order> sorter({}, folder_, Folder::Use::operation, 1000);
        const std::vector<Entry> entries = random_entries(20'000, 20);
        try {
            for (const Entry& entry : entries)
                add(sorter, entry);
            ADD_FAILURE() << "there is no limit";
        } catch (const base::Error& e) {
            EXPECT_EQ(e.code(), base::kOutOfDiskSpace);
            EXPECT_NE(std::string(e.what()).find("memoryLimitMB"), std::string::npos);
        }
        Sorter<Order> of_index({}, folder_, Folder::Use::index_build, 1000);
        for (const Entry& entry : entries)
            add(of_index, entry);
        of_index.finish();
        EXPECT_EQ(take_all(of_index).size(), entries.size());
    }
    set_limit(kAllBytes);
    EXPECT_EQ(bytes_on_disk(), 0);
    EXPECT_EQ(files_in(folder_), 0U);
}

TEST_F(SorterTest, ALinkIsNotFollowed) {
    const std::string elsewhere = os::join(home_.path(), "elsewhere");
    fs::create_directory(elsewhere);
    fs::create_directory_symlink(elsewhere, folder_);
    Sorter<Order> sorter({}, folder_, Folder::Use::operation, 100);
    EXPECT_THROW(
        {
            for (const Entry& entry : random_entries(100, 20))
                add(sorter, entry);
        },
        base::Error);
    EXPECT_EQ(files_in(elsewhere), 0U);
}

// Most sorts need no file, wherever the environment says that those go.
TEST_F(SorterTest, TheSystemsFolderIsLookedForWithTheFirstFile) {
    const char* const before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TMPDIR", os::join(home_.path(), "missing").c_str(), 1);
    Sorter<Order> sorter({}, "", Folder::Use::operation, 1000);
    add(sorter, {1, 1, ""});
    sorter.finish();
    EXPECT_EQ(take_all(sorter).size(), 1U);
    if (before == nullptr)
        ::unsetenv("TMPDIR");
    else
        ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(SorterTest, ARunIsReadAnyNumberOfTimes) {
    Folder folder(folder_, Folder::Use::operation);
    spill::Run run(folder);
    const std::string texts[] = {"", "a", std::string(600'000, 'b'), "c"};
    for (const std::string& text : texts)
        run.append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    for (int round = 0; round < 3; ++round) {
        run.rewind();
        for (const std::string& text : texts) {
            ASSERT_TRUE(run.advance());
            EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(run.entry().data()),
                                       run.entry().size()),
                      text);
            if (round == 1 && text == "a") break;
        }
        if (round != 1) {
            EXPECT_FALSE(run.advance());
        }
    }
}

}  // namespace
}  // namespace spill
