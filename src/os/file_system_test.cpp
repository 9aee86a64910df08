// The real and the simulated file system by the same contract, and what only the simulation can do.

#include "os/file_system.h"

#include <gtest/gtest.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "os/clock.h"
#include "os/mapping.h"
#include "os/testing/directory.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"

namespace os {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(std::string_view text) {
    return {text.begin(), text.end()};
}
std::string read_all(FileSystem& files, const std::string& path) {
    const auto file = files.open(path, {});
    Bytes bytes(file->length());
    file->read_at(0, bytes);
    return {bytes.begin(), bytes.end()};
}
void write_file(FileSystem& files, const std::string& path, std::string_view text, bool sync) {
    const auto file = files.open(path, {.access = Access::read_write, .create = true});
    file->write_at(0, bytes_of(text));
    if (sync) file->sync();
}

class Contract : public testing::TestWithParam<bool> {
  protected:
    Contract() {
        if (!GetParam()) return;
        simulated_ = std::make_unique<SimFileSystem>();
        simulated_->create_directory("/db");
    }
    FileSystem& files() { return simulated_ ? *simulated_ : real_file_system(); }
    std::string path(const std::string& name) {
        return simulated_ ? join("/db", name) : directory_ / name;
    }

  private:
    TestDirectory directory_;
    std::unique_ptr<SimFileSystem> simulated_;
};
INSTANTIATE_TEST_SUITE_P(Both, Contract, testing::Values(false, true));

TEST_P(Contract, SequentialWritesMoveThePosition) {
    const auto file = files().open(path("a"), {.access = Access::write, .create = true});
    EXPECT_EQ(file->position(), 0u);
    file->write(bytes_of("hello "));
    file->write(bytes_of("world"));
    EXPECT_EQ(file->position(), 11u);
    file->seek(6);
    file->write(bytes_of("W"));
    file->sync_data();
    EXPECT_EQ(read_all(files(), path("a")), "hello World");
}

TEST_P(Contract, AFreshFileMustNotBeThere) {
    const OpenOptions fresh = {.access = Access::write, .create = true, .fresh = true};
    files().open(path("a"), fresh)->write(bytes_of("mine"));
    EXPECT_THROW(files().open(path("a"), fresh), IoError);
    EXPECT_EQ(read_all(files(), path("a")), "mine");
}

TEST_P(Contract, ReadingStopsAtTheEnd) {
    write_file(files(), path("a"), "12345", true);
    const auto file = files().open(path("a"), {});
    Bytes to(10);
    EXPECT_EQ(file->read_at(3, to), 2u);
    EXPECT_EQ(file->read_at(50, to), 0u);
}

TEST_P(Contract, TruncateAndAllocateSetTheLength) {
    const auto file = files().open(path("a"), {.access = Access::read_write, .create = true});
    file->allocate(8192);
    EXPECT_EQ(file->length(), 8192u);
    file->allocate(100);
    EXPECT_EQ(file->length(), 8192u);
    file->truncate(3);
    EXPECT_EQ(read_all(files(), path("a")), std::string(3, '\0'));
}

TEST_P(Contract, DirectWritesOfWholeBlocks) {
    const auto file =
        files().open(path("a"), {.access = Access::write, .create = true, .direct = true});
    auto* block = static_cast<uint8_t*>(::operator new (8192, std::align_val_t{4096}));
    std::memset(block, 'x', 8192);
    file->write({block, 8192});
    file->sync_data();
    EXPECT_EQ(file->length(), 8192u);
    ::operator delete (block, std::align_val_t{4096});
}

TEST_P(Contract, NamesCanBeListedRenamedAndRemoved) {
    write_file(files(), path("b"), "b", false);
    write_file(files(), path("a"), "a", false);
    files().create_directory(path("c"));
    files().create_directory(path("c"));
    write_file(files(), join(path("c"), "inside"), "", false);
    EXPECT_EQ(files().list(parent(path("a"))), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_TRUE(files().is_directory(path("c")));
    files().rename(path("a"), path("b"));
    EXPECT_EQ(read_all(files(), path("b")), "a");
    EXPECT_FALSE(files().exists(path("a")));
    EXPECT_THROW(files().remove(path("c")), IoError);
    files().remove_all(path("c"));
    EXPECT_FALSE(files().exists(path("c")));
    files().remove_all(path("c"));
    files().sync_directory(parent(path("a")));
}

TEST_P(Contract, WhatIsMissingIsReportedAsMissing) {
    try {
        files().open(path("nowhere"), {});
        FAIL();
    } catch (const IoError& e) {
        EXPECT_TRUE(e.not_found());
        EXPECT_NE(std::string(e.what()).find("nowhere"), std::string::npos);
    }
}

TEST_P(Contract, TheLockIsExclusive) {
    const OpenOptions options{.access = Access::read_write, .create = true};
    auto first = files().open(path("lock"), options);
    const auto second = files().open(path("lock"), options);
    EXPECT_TRUE(first->try_lock());
    EXPECT_FALSE(second->try_lock());
    first.reset();
    EXPECT_TRUE(second->try_lock());
}

TEST_P(Contract, PrivateCopiesStayPrivateUntilRemapped) {
    write_file(files(), path("a"), std::string(8192, '.'), true);
    const auto file = files().open(path("a"), {.access = Access::read_write});
    const auto shared = files().map(*file, MapKind::shared, 8192);
    const auto copy = files().map(*file, MapKind::private_copy, 8192);
    uint8_t* const address = copy->data();
    copy->data()[100] = 'p';
    EXPECT_EQ(shared->data()[100], '.');
    shared->data()[200] = 's';
    shared->sync(true);
    EXPECT_EQ(read_all(files(), path("a"))[200], 's');
    EXPECT_EQ(read_all(files(), path("a"))[100], '.');
    copy->remap();
    EXPECT_EQ(copy->data(), address);
    EXPECT_EQ(copy->data()[100], '.');
    EXPECT_EQ(copy->data()[200], 's');
}

// Returns the states that a cut can leave, as "name=content" lists.
std::set<std::string> states_after_cut(const SimFileSystem& files, size_t sector_bytes) {
    std::set<std::string> states;
    EveryChoice choices;
    do {
        const auto after = files.power_cut(choices, sector_bytes);
        std::string state;
        for (const std::string& name : after->list("/db"))
            state += name + "=" + read_all(*after, join("/db", name)) + " ";
        states.insert(state);
    } while (choices.next());
    return states;
}

class Simulation : public testing::Test {
  protected:
    Simulation() {
        files.create_directory("/db");
        files.sync_directory("/");
    }
    SimFileSystem files;
};

TEST_F(Simulation, SyncedBytesSurviveAndOthersMay) {
    write_file(files, "/db/a", "AABB", true);
    files.sync_directory("/db");
    EXPECT_EQ(states_after_cut(files, 2), std::set<std::string>{"a=AABB "});
    write_file(files, "/db/a", "ccdd", false);
    EXPECT_EQ(states_after_cut(files, 2),
              (std::set<std::string>{"a=AABB ", "a=ccBB ", "a=AAdd ", "a=ccdd "}));
    files.open("/db/a", {})->sync_data();
    EXPECT_EQ(states_after_cut(files, 2), std::set<std::string>{"a=ccdd "});
}

TEST_F(Simulation, LengthAndBytesAreLostSeparately) {
    write_file(files, "/db/a", "1", true);
    files.sync_directory("/db");
    files.open("/db/a", {.access = Access::read_write})->write_at(1, bytes_of("2"));
    EXPECT_EQ(states_after_cut(files, 1),
              (std::set<std::string>{"a=1 ", std::string("a=1\0 ", 5), "a=12 "}));
}

TEST_F(Simulation, NamesOfADirectorySurviveEachByItself) {
    write_file(files, "/db/a", "1", true);
    files.rename("/db/a", "/db/b");
    write_file(files, "/db/c", "", true);
    EXPECT_EQ(states_after_cut(files, 1),
              (std::set<std::string>{"", "a=1 ", "b=1 ", "c= ", "a=1 c= ", "b=1 c= "}));
    files.sync_directory("/db");
    EXPECT_EQ(states_after_cut(files, 1), std::set<std::string>{"b=1 c= "});
}

TEST_F(Simulation, CallsFailOnDemandAndAreRecorded) {
    files.fail(SimFileSystem::Call::sync_data, "/a", std::errc::io_error, 1);
    const auto file = files.open("/db/a", {.access = Access::write, .create = true});
    file->write(bytes_of("x"));
    file->sync_data();
    EXPECT_THROW(file->sync_data(), IoError);
    file->sync_data();
    std::vector<SimFileSystem::Call> calls;
    for (const auto& event : files.events())
        calls.push_back(event.call);
    using Call = SimFileSystem::Call;
    EXPECT_EQ(calls,
              (std::vector<Call>{Call::create_directory, Call::sync_directory, Call::open,
                                 Call::write, Call::sync_data, Call::sync_data, Call::sync_data}));
}

TEST_F(Simulation, DirectWritesMustBeAligned) {
    const auto file =
        files.open("/db/a", {.access = Access::write, .create = true, .direct = true});
    EXPECT_THROW(file->write(bytes_of("x")), IoError);
}

TEST_F(Simulation, ShortWritesAreWrittenOut) {
    files.set_largest_write(3);
    const auto file = files.open("/db/a", {.access = Access::write, .create = true});
    EXPECT_EQ(file->write_some(bytes_of("12345678")), 3u);
    file->write(bytes_of("45678"));
    EXPECT_EQ(read_all(files, "/db/a"), "12345678");
}

TEST(EveryChoice, VisitsEachCombinationOnce) {
    EveryChoice choices;
    std::set<std::pair<size_t, size_t>> seen;
    int rounds = 0;
    do {
        const size_t first = choices.choose(2);
        const size_t second = first == 0 ? choices.choose(3) : 9;
        seen.insert({first, second});
        ++rounds;
    } while (choices.next());
    EXPECT_EQ(rounds, 4);
    EXPECT_EQ(seen.size(), 4u);
}

TEST(SystemClock, AWakeBeforeTheSleepEndsItAtOnce) {
    const auto sleeper = system_clock().make_sleeper();
    sleeper->wake();
    EXPECT_FALSE(sleeper->sleep_us(int64_t{3600} * 1'000'000));
    EXPECT_TRUE(sleeper->sleep_us(1000));
}

TEST(SystemClock, SleepsAtLeastAsLongAsAsked) {
    const int64_t start = system_clock().monotonic_us();
    EXPECT_TRUE(system_clock().make_sleeper()->sleep_us(2000));
    EXPECT_GE(system_clock().monotonic_us() - start, 2000);
}

#ifdef __linux__
TEST(SystemClock, SleepsAreNotStretchedToSaveWakeUps) {
    std::thread([] {
        system_clock().make_sleeper()->sleep_us(1);
        EXPECT_LE(prctl(PR_GET_TIMERSLACK), 1000);
    }).join();
}
#endif

TEST(Paths, JoinAndSplit) {
    EXPECT_EQ(join("a", "b"), "a/b");
    EXPECT_EQ(join("a/", "b"), "a/b");
    EXPECT_EQ(parent("a/b/c"), "a/b");
    EXPECT_EQ(parent("/a"), "/");
    EXPECT_EQ(parent("a"), ".");
    EXPECT_EQ(base_name("a/b"), "b");
}

}  // namespace
}  // namespace os
