#include "storage/wiredtiger/map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "bson/builder.h"
#include "os/testing/directory.h"
#include "storage/contract/harness.h"
#include "storage/kv/bytes.h"
#include "storage/kv/engine.h"
#include "storage/kv/overlay.h"
#include "storage/kv/testing/copy.h"
#include "storage/wiredtiger/open.h"

namespace wt {
namespace {

using kv::Kind;
using kv::Table;
using storage::contract::failure;

constexpr Table kTable{16};
constexpr uint64_t kMegabyte = uint64_t{1} << 20;

class WiredTigerMapTest : public testing::Test {
  protected:
    kv::MapSettings settings(const std::string& config = "") {
        kv::MapSettings settings;
        settings.directory = directory;
        settings.log = log;
        settings.cache_bytes = cache_bytes;
        settings.config = config;
        settings.host = &kv::base_host();
        return settings;
    }
    void open(const std::string& config = "") {
        close();
        map = open_map(settings(config), {.free_bytes = [this] { return free_bytes.load(); },
                                          .rolls_back = rolls_back});
        map->add_table(kTable, Kind::documents);
        session = std::make_unique<kv::Overlay>(map->session());
    }
    void close() {
        session.reset();
        map.reset();
    }
    // Makes a copy of the directory, as a kill leaves it.
    void copy_to(const std::string& copy) {
        std::filesystem::create_directory(copy);
        for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            std::error_code renamed;  // files of the log that the library makes in advance
            std::filesystem::copy(entry.path(), copy, renamed);
        }
    }
    void open_copy() {
        const std::string copy = store / ("copy" + std::to_string(++copies_));
        copy_to(copy);
        close();
        directory = copy;
        open();
    }
    std::string refusal(const std::string& config = "") {
        try {
            open(config);
        } catch (const base::Error& error) {
            EXPECT_EQ(error.code(), base::kInvalidOptions);
            return error.what();
        }
        return "";
    }
    void put(int key, const std::string& value, Table table = kTable) {
        session->put(table, kv::big_endian(key), kv::as_bytes(value));
    }
    int count(Table table = kTable) {
        int rows = 0;
        const auto cursor = session->cursor(table);
        for (cursor->seek({}); !cursor->at_end(); cursor->next())
            ++rows;
        return rows;
    }
    int64_t metric(const std::string& name) {
        int64_t found = -1;
        map->report([&](const char* each, int64_t value) {
            if (each == name) found = value;
        });
        return found;
    }
    bool has_file(const std::string& name) const {
        return std::filesystem::exists(directory + "/" + name);
    }

    os::TestDirectory store;
    std::string directory = store / "map";
    bool log = true;
    int64_t cache_bytes = 64 << 20;
    std::atomic<uint64_t> free_bytes{uint64_t{1} << 40};
    std::function<bool()> rolls_back;
    std::unique_ptr<kv::Map> map;
    std::unique_ptr<kv::Overlay> session;

  private:
    int copies_ = 0;
};

TEST_F(WiredTigerMapTest, LittleMemoryMakesCommitsSmall) {
    EXPECT_EQ(commit_bytes_of_memory(240 << 20), 10 << 20);
    EXPECT_EQ(commit_bytes_of_memory(0), std::numeric_limits<int64_t>::max());
    kv::MapSettings small = settings();
    small.memory_bytes = 120 << 20;
    map = open_map(small);
    EXPECT_EQ(map->commit_bytes_max(), 5 << 20);
}

TEST_F(WiredTigerMapTest, AKillLeavesWhatWasSynced) {
    open();
    put(1, "synced");
    session->commit();
    map->sync_log();
    put(2, "not committed");
    open_copy();
    EXPECT_EQ(count(), 1);
}

// A table that was written without one would pass over what the log has of it later.
TEST_F(WiredTigerMapTest, WhoWantsNoLogLosesNothingOfRunsThatHaveOne) {
    open();
    put(1, "in the log");
    session->commit();
    map->sync_log();
    log = false;  // as --repair and --nojournal
    open_copy();
    EXPECT_EQ(count(), 1);
    put(2, "a");
    session->commit();
    log = true;
    open();
    EXPECT_EQ(count(), 2);
    put(3, "in the log again");
    session->commit();
    map->sync_log();
    open_copy();
    EXPECT_EQ(count(), 3);
}

TEST_F(WiredTigerMapTest, ACopyHasAllCommits) {
    open();
    kv::expect_a_copy_has_all_commits(*map, store / "copied", [&](const std::string& copied) {
        kv::MapSettings of_copy = settings();
        of_copy.directory = copied;
        return open_map(of_copy, {});
    });
}

TEST_F(WiredTigerMapTest, ADroppedTableGivesItsFileBack) {
    open();
    put(1, "a");
    session->commit();
    map->checkpoint(true);
    EXPECT_TRUE(has_file("t16.wt"));
    map->drop(kTable);
    EXPECT_EQ(count(), 0);
    map->checkpoint(true);
    EXPECT_FALSE(has_file("t16.wt"));
    EXPECT_EQ(map->disk_bytes(kTable), std::nullopt);
}

TEST_F(WiredTigerMapTest, ADropGoesOnAtTheNextStart) {
    open();
    put(1, "a");
    session->commit();
    map->pause();  // nothing is removed now
    map->drop(kTable);
    map->sync_log();
    const std::string copy = store / "copy";
    std::filesystem::copy(directory, copy);
    EXPECT_TRUE(has_file("t16.wt"));
    map->resume();
    close();
    directory = copy;
    EXPECT_TRUE(has_file("t16.wt"));
    map = open_map(settings());
    EXPECT_FALSE(has_file("t16.wt"));
}

TEST_F(WiredTigerMapTest, WhatIsBegunAndWhatIsNotWrittenYetNeedsRoomToo) {
    cache_bytes = int64_t{1} << 30;  // what is put below stays in there
    open();
    free_bytes = 400 * kMegabyte;
    map->check_space(15 * kMegabyte);
    free_bytes = 210 * kMegabyte;
    EXPECT_EQ(failure([&] { map->check_space(8 * 15 * kMegabyte); }), base::kOutOfDiskSpace);
    map->check_space();
    for (int i = 0; i < 3; ++i)
        put(i, std::string(15 << 20, 'x'));
    session->commit();
    EXPECT_EQ(failure([&] { map->check_space(); }), base::kOutOfDiskSpace);
    // The checkpoint is under way by itself.
    while (failure([&] { map->check_space(); }) != 0)
        std::this_thread::yield();
}

// A kill can leave parts of a table. With a column group that is never made the library has rows of
// it that are not all.
TEST_F(WiredTigerMapTest, PartsOfTablesAreNoTables) {
    open();
    put(1, "a");
    session->commit();
    map->add_table(Table{17}, Kind::entries);
    map->add_table(Table{18}, Kind::entries);
    close();
    {
        WT_CONNECTION* library = nullptr;
        WT_SESSION* made = nullptr;
        ASSERT_EQ(wiredtiger_open(directory.c_str(), nullptr, "log=(enabled)", &library), 0);
        ASSERT_EQ(library->open_session(library, nullptr, nullptr, &made), 0);
        ASSERT_EQ(made->create(made, "table:t19",
                               "key_format=u,value_format=u,columns=(k,v),colgroups=(g)"),
                  0);
        ASSERT_EQ(library->close(library, nullptr), 0);
    }
    std::filesystem::remove(directory + "/t17.wt");
    for (const char* const strange : {"/t20.wt", "/t21.wt.1", "/t16.wt.2"})
        std::ofstream(directory + strange) << "left over";
    std::ofstream(directory + "/t16.wt.other") << "of a user";
    open();
    EXPECT_TRUE(map->has_table(kTable));
    EXPECT_FALSE(map->has_table(Table{17}));
    EXPECT_FALSE(map->has_table(Table{19}));
    EXPECT_GT(map->tables_end(), 19U);
    map->keep_only({kTable, Table{17}});
    map->checkpoint(true);
    for (const char* const gone : {"t18.wt", "t20.wt", "t21.wt.1", "t16.wt.2"})
        EXPECT_FALSE(has_file(gone)) << gone;
    EXPECT_TRUE(has_file("t16.wt.other"));
    EXPECT_EQ(count(), 1);
    for (const Table table : {Table{17}, Table{18}, Table{19}, Table{20}}) {
        map->add_table(table, Kind::entries);
        put(1, "a", table);
        session->commit();
        EXPECT_EQ(count(table), 1);
    }
}

TEST_F(WiredTigerMapTest, ADiskThatIsNearlyFullRefusesChangesUntilItHasRoomAgain) {
    open();
    map->check_space();
    close();
    free_bytes = 100 * kMegabyte;
    open();
    EXPECT_EQ(failure([&] { map->check_space(); }), base::kOutOfDiskSpace);
    // A change that the map has taken already is written all the same.
    put(1, "a");
    session->commit();
    map->checkpoint(true);
    free_bytes = uint64_t{1} << 40;
    while (failure([&] { map->check_space(); }) != 0)
        std::this_thread::yield();
}

// The library would end the process.
TEST_F(WiredTigerMapTest, WithFewDescriptorsNewTablesAreRefused) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{256, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    open();
    uint32_t made = 0;
    int code = 0;
    while (code == 0)
        code = failure([&] { map->add_table(Table{100 + ++made}, Kind::entries); });
    EXPECT_EQ(code, base::kOperationFailed);
    EXPECT_GT(made, 50U);
    for (uint32_t i = 1; i < made; ++i)
        put(1, "a", Table{100 + i});
    session->commit();
    map->checkpoint(true);
    // One that goes makes room for another one.
    map->drop(Table{101});
    map->checkpoint(true);
    map->add_table(Table{99}, Kind::documents);
    open();
    const rlimit fewer{128, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer), 0);
    EXPECT_NE(refusal().find("ulimit -n"), std::string::npos);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    open();
    EXPECT_EQ(count(Table{102}), 1);
}

TEST_F(WiredTigerMapTest, WhatTheLibraryRollsBackIsMadeAgain) {
    int calls = 0, rolled_back = 0;
    rolls_back = [&] { return ++calls % 20 == 0 && ++rolled_back > 0; };
    open();
    for (int i = 0; i < 500; ++i) {
        put(i, "a");
        if (i % 7 == 3) session->erase(kTable, kv::big_endian(i));
        if (i % 5 == 4) session->commit();
    }
    EXPECT_GT(rolled_back, 30);
    EXPECT_GT(metric("rollbacks"), 20);
    rolls_back = nullptr;
    open();
    for (int i = 0; i < 500; ++i)
        EXPECT_EQ(session->size_of(kTable, kv::big_endian(i)).has_value(), i % 7 != 3) << i;
}

// Changes beyond what its cache should hold, which only the commit ends.
TEST_F(WiredTigerMapTest, LargeDocumentsFitASmallCache) {
    cache_bytes = 256 << 20;
    open();
    const std::string value(16 << 20, 'x');
    for (int i = 0; i < 20; ++i) {
        put(i, value);
        if (i % 2 == 1) session->commit();
    }
    kv::Bytes found;
    ASSERT_TRUE(session->get(kTable, kv::big_endian(7), &found));
    EXPECT_EQ(found.size(), value.size());
    EXPECT_LT(metric("cacheBytes"), static_cast<int64_t>(300 * kMegabyte));
}

// A cursor keeps its place while others commit and checkpoints come by.
TEST_F(WiredTigerMapTest, ACommitDoesNotEndCursorsOfOtherTables) {
    open();
    constexpr Table kOther{17};
    map->add_table(kOther, Kind::entries);
    for (int i = 0; i < 100; ++i)
        put(i, "a");
    session->commit();
    const auto cursor = session->cursor(kTable);
    int rows = 0;
    for (cursor->seek({}); !cursor->at_end(); cursor->next(), ++rows) {
        EXPECT_EQ(kv::from_big_endian<int>(cursor->key()), rows);
        put(rows, "b", kOther);
        if (rows % 3 == 0) session->commit();
        if (rows % 10 == 0) map->checkpoint(true);
    }
    EXPECT_EQ(rows, 100);
    for (cursor->seek_to_last(); !cursor->at_end(); cursor->previous(), --rows) {
        put(rows, "c", kOther);
        session->commit();
    }
    EXPECT_EQ(rows, 0);
}

TEST_F(WiredTigerMapTest, ADirectoryOfAnotherProgramIsLeftAlone) {
    std::filesystem::create_directory(directory);
    WT_CONNECTION* other = nullptr;
    ASSERT_EQ(wiredtiger_open(directory.c_str(), nullptr, "create", &other), 0);
    ASSERT_EQ(other->close(other, nullptr), 0);
    const auto names = [&] {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(directory))
            names.push_back(entry.path().filename());
        std::ranges::sort(names);
        return names;
    };
    const auto before = names();
    EXPECT_NE(refusal().find("was not made by this server"), std::string::npos);
    EXPECT_EQ(names(), before);
}

TEST_F(WiredTigerMapTest, AFormatOfAnotherVersionIsNamed) {
    open();
    close();
    std::ofstream(directory + "/FORMAT") << "mongod-dur 2\n";
    EXPECT_NE(refusal().find("FORMAT says \"mongod-dur 2\""), std::string::npos);
}

TEST_F(WiredTigerMapTest, AStartThatWasCutShortIsBegunAgain) {
    std::filesystem::create_directory(directory);
    std::ofstream(directory + "/FORMAT.new") << "mongod";
    open();
    close();
    EXPECT_FALSE(has_file("FORMAT.new"));
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        if (entry.path().filename() != "FORMAT") std::filesystem::remove_all(entry.path());
    open();
}

// A power cut can tear the pages of a checkpoint that was being written.
TEST_F(WiredTigerMapTest, TornPagesOfTheCatalogueOfTheLibraryAreSalvaged) {
    open();
    put(1, "a");
    session->commit();
    close();
    const std::string catalogue = directory + "/WiredTiger.wt";
    const auto bytes = std::filesystem::file_size(catalogue);
    std::filesystem::resize_file(catalogue, bytes / 2);
    std::filesystem::resize_file(catalogue, bytes);
    open();
    EXPECT_EQ(count(), 1);
}

// One damaged page ends the process that reads it.
TEST_F(WiredTigerMapTest, ARepairKeepsWhatCanBeReadOfDamagedTables) {
    open();
    constexpr Table kBeheaded{17}, kCut{18}, kWhole{19}, kNonsense{20};
    std::string value(2000, 'x');
    for (const Table table : {kBeheaded, kCut, kWhole, kNonsense})
        map->add_table(table, Kind::documents);
    for (int i = 0; i < 1000; ++i) {
        for (char& c : value)
            c = static_cast<char>(random());  // that pages do not become small
        for (const Table table : {kTable, kBeheaded, kCut, kWhole, kNonsense})
            put(i, value, table);
        session->commit();
    }
    close();
    const auto path = [&](const std::string& name) { return directory + "/" + name + ".wt"; };
    const auto damage = [&](const std::string& name, uintmax_t offset) {
        std::fstream file(path(name), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(offset));
        file << "damage";
    };
    damage("t16", std::filesystem::file_size(path("t16")) / 2);
    damage("t17", 0);
    std::filesystem::resize_file(path("t18"), std::filesystem::file_size(path("t18")) / 2);
    std::ofstream(path("t20"), std::ios::trunc) << "nonsense";
    damage("drops", 0);
    map = open_map(settings());
    for (const Table table : {kTable, kBeheaded, kCut, kWhole, kNonsense})
        map->repair(table);
    session = std::make_unique<kv::Overlay>(map->session());
    EXPECT_GT(count(), 900);
    EXPECT_LT(count(), 1000);
    EXPECT_GT(count(kBeheaded), 900);
    EXPECT_GT(count(kCut), 300);
    EXPECT_EQ(count(kWhole), 1000);
    EXPECT_TRUE(!map->has_table(kNonsense) || count(kNonsense) == 0);
    map->add_table(kNonsense, Kind::documents);
    open();
    EXPECT_GT(count(), 900);
    EXPECT_EQ(count(kNonsense), 0);
    // From now on they are tables like others.
    const int left = count();
    for (const Table table : {kTable, kNonsense})
        put(2000, "a", table);
    session->commit();
    map->sync_log();
    open_copy();
    EXPECT_EQ(count(), left + 1);
    EXPECT_EQ(count(kNonsense), 1);
}

TEST_F(WiredTigerMapTest, WhatCannotBeSalvagedIsNotOpened) {
    open();
    close();
    std::ofstream(directory + "/WiredTiger.turtle") << "nonsense";
    EXPECT_EQ(failure([&] { open(); }), base::kInternalError);
}

TEST_F(WiredTigerMapTest, TheConfigurationIsTakenOrRefusedByName) {
    open(
        "eviction=(threads_max=2),eviction_checkpoint_target=3,eviction_dirty_target=4,"
        "eviction_dirty_trigger=15,eviction_target=70,eviction_trigger=90,io_capacity=(total=1GB),"
        "file_manager=(close_idle_time=10),mmap=false,session_scratch_max=4MB,verbose=[recovery]");
    EXPECT_NE(refusal("nonsense=1").find("may not set nonsense, only eviction"), std::string::npos);
    EXPECT_NE(refusal("eviction=(nonsense=1)").find("its configuration is"), std::string::npos);
    EXPECT_NE(refusal("eviction=(").find("the configuration of WiredTiger"), std::string::npos);
    for (const std::string word :
         {"log", "transaction_sync", "in_memory", "readonly", "checkpoint_sync", "salvage",
          "cache_size", "use_environment", "file_extend", "write_through", "debug_mode"})
        EXPECT_NE(refusal("eviction_target=70," + word + "=true").find("may not set " + word),
                  std::string::npos)
            << word;
}

TEST_F(WiredTigerMapTest, TheEnvironmentSaysNothing) {
    ASSERT_EQ(::setenv("WIREDTIGER_CONFIG", "nonsense=1", 1), 0);
    open();
    EXPECT_EQ(::unsetenv("WIREDTIGER_CONFIG"), 0);
    EXPECT_FALSE(has_file("WiredTiger.basecfg"));
}

// Finds the log among the open files, and lets each call on it fail.
void break_log() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::filesystem::path file = std::filesystem::read_symlink(entry.path(), gone);
        if (gone || !file.filename().string().starts_with("WiredTigerLog.")) continue;
        const int full = ::open("/dev/full", O_RDWR);
        ::dup2(full, std::stoi(entry.path().filename().string()));
        ::close(full);
    }
}

TEST_F(WiredTigerMapTest, ALogThatCannotBeWrittenEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            open();
            put(1, "a");
            session->commit();
            break_log();
            map->sync_log();
        },
        testing::ExitedWithCode(base::kExitAbrupt), "");
}

TEST_F(WiredTigerMapTest, TheEngineFindsItsCollectionsAfterAKill) {
    const auto start = [&] {
        return std::make_unique<kv::Engine>(open_map(settings()),
                                            kv::EngineOptions{.name = "wiredTiger"});
    };
    const std::string after = store / "after";
    {
        const auto engine = start();
        {
            const storage::DatabaseLock lock(engine->locks(), "test", true);
            storage::CollectionStore& made =
                engine->create_database("test").create_collection("test.c", {});
            for (int i = 0; i < 1000; ++i)
                made.records().insert(bson::make("_id", i));
        }
        engine->durability().await_commit_blocking();
        copy_to(after);
        engine->shutdown();
    }
    directory = after;
    const auto engine = start();
    {
        const storage::DatabaseLock lock(engine->locks(), "test", false);
        EXPECT_EQ(engine->database("test")->collection("test.c")->records().count(), 1000);
    }
    engine->shutdown();
}

}  // namespace
}  // namespace wt
