#include "storage/rocksdb/map.h"

#include <gtest/gtest.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/testing/fatal_handler.h"
#include "bson/builder.h"
#include "os/testing/directory.h"
#include "storage/contract/harness.h"
#include "storage/kv/bytes.h"
#include "storage/kv/engine.h"
#include "storage/kv/overlay.h"
#include "storage/kv/testing/copy.h"
#include "storage/rocksdb/configuration.h"
#include "storage/rocksdb/open.h"
#include "storage/rocksdb/session.h"
#include "storage/rocksdb/testing/faulty_files.h"

namespace rocks {
namespace {

using kv::Table;
using storage::contract::failure;

constexpr Table kTable{16};

struct Ended {
    std::string text;
};
void throw_ended(int, std::string_view text) {
    throw Ended{std::string(text)};
}

class RocksMapTest : public testing::Test {
  protected:
    kv::MapSettings settings(const std::string& config = "") {
        kv::MapSettings settings;
        settings.directory = directory;
        settings.cache_bytes = 8 << 20;
        settings.config = config;
        settings.host = &kv::base_host();
        return settings;
    }
    void open(const std::string& config = "") {
        close();
        map = open_map(settings(config), files);
        session = std::make_unique<kv::Overlay>(map->session());
    }
    void close() {
        session.reset();
        map.reset();
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
    // Leaves one committed row, which no checkpoint can write.
    void open_and_fill_the_disk() {
        open();
        put(1, "a");
        session->commit();
        files->is_full = true;
        files->free_bytes = 0;
        EXPECT_EQ(failure([&] { map->checkpoint(true); }), base::kOutOfDiskSpace);
    }
    void empty_the_disk() {
        files->is_full = false;
        files->free_bytes = uint64_t{1} << 40;
    }
    void put(int key, const std::string& value, Table table = kTable) {
        session->put(table, kv::big_endian(key), kv::as_bytes(value));
    }
    void fill(int rows, Table table, size_t value_bytes = 1000) {
        std::string value(value_bytes, 'x');
        for (int i = 0; i < rows; ++i) {
            // Not to be compressed.
            for (size_t at = 0; at + 8 < value.size(); at += 8) {
                const uint64_t noise = (state_ = state_ * 6364136223846793005U + 1) >> 7;
                std::memcpy(value.data() + at, &noise, sizeof noise);
            }
            put(i, value, table);
            if (session->changed_bytes() > size_t{1} << 20) session->commit();
        }
        session->commit();
    }
    // How many removed rows are in the way to the first row.
    uint64_t walked() {
        rocksdb::get_perf_context()->Reset();
        session->cursor(kTable)->seek({});
        return rocksdb::get_perf_context()->internal_delete_skipped_count;
    }
    int count(Table table = kTable) {
        int rows = 0;
        const auto cursor = session->cursor(table);
        for (cursor->seek({}); !cursor->at_end(); cursor->next())
            ++rows;
        return rows;
    }
    uintmax_t bytes_of_files(std::string_view kind = ".sst") const {
        uintmax_t bytes = 0;
        for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            std::error_code gone;
            const uintmax_t size = entry.file_size(gone);
            if (!gone && entry.path().extension() == kind) bytes += size;
        }
        return bytes;
    }

    os::TestDirectory store;
    std::string directory = store / "map";
    std::shared_ptr<FaultyFiles> files = std::make_shared<FaultyFiles>();
    std::unique_ptr<kv::Map> map;
    std::unique_ptr<kv::Overlay> session;

  private:
    uint64_t state_ = 1;
};

// Where a merge may meet ten rows of the largest size the process must not die of it.
TEST_F(RocksMapTest, LittleMemoryMakesBuffersCommitsAndMergesSmall) {
    const auto in = [this](int64_t megabytes) {
        kv::MapSettings small = settings();
        small.memory_bytes = megabytes << 20;
        return configuration(small, rocksdb::Env::Default(), nullptr);
    };
    EXPECT_EQ(in(256).write_buffer_size, 8U << 20);
    EXPECT_EQ(in(16).write_buffer_size, 1U << 20) << "the least";
    EXPECT_EQ(in(256).level0_stop_writes_trigger, 4);
    const rocksdb::Options usual;
    EXPECT_EQ(in(2048).write_buffer_size, usual.write_buffer_size);
    EXPECT_EQ(in(2048).level0_stop_writes_trigger, usual.level0_stop_writes_trigger);
    EXPECT_EQ(commit_bytes_of_memory(240 << 20), 10 << 20);
    EXPECT_EQ(commit_bytes_of_memory(0), std::numeric_limits<int64_t>::max());

    kv::MapSettings small = settings();
    small.memory_bytes = 240 << 20;
    map = open_map(small, files);
    EXPECT_EQ(map->commit_bytes_max(), 10 << 20);
}

TEST_F(RocksMapTest, APowerCutLeavesWhatWasSynced) {
    open();
    put(1, "synced");
    session->commit();
    map->sync_log();
    put(2, "not synced");
    session->commit();
    put(3, "not committed");
    const std::string after = store / "after";
    files->copy_synced(directory, after);
    close();
    directory = after;
    open();
    EXPECT_EQ(count(), 1);
}

TEST_F(RocksMapTest, AKillLeavesWhatWasCommitted) {
    open();
    put(1, "committed");
    session->commit();
    put(2, "not committed");
    const std::string after = store / "after";
    std::filesystem::copy(directory, after);
    close();
    directory = after;
    open();
    EXPECT_EQ(count(), 1);
}

TEST_F(RocksMapTest, WithoutALogTheLastCheckpointIsLeft) {
    kv::MapSettings without_log = settings();
    without_log.log = false;
    map = open_map(without_log, files);
    session = std::make_unique<kv::Overlay>(map->session());
    put(1, "a");
    session->commit();
    map->checkpoint(true);
    put(2, "b");
    session->commit();
    const std::string after = store / "after";
    files->copy_synced(directory, after);
    close();
    directory = after;
    open();
    EXPECT_EQ(count(), 1);
}

// Its files go only when it is on disk that it is dropped.
TEST_F(RocksMapTest, APowerCutBehindADropLeavesAllRowsOrNone) {
    for (const bool is_checkpointed : {false, true}) {
        open();
        fill(3000, kTable);
        map->checkpoint(true);
        const int before = count();
        map->drop(kTable);
        if (is_checkpointed) map->checkpoint(false);
        const std::string after = store / (is_checkpointed ? "second" : "first");
        files->copy_synced(directory, after);
        const std::string kept = std::exchange(directory, after);
        close();
        open();
        EXPECT_EQ(count(), is_checkpointed ? 0 : before);
        close();
        directory = kept;
    }
}

TEST_F(RocksMapTest, ACopyHasAllCommits) {
    open();
    kv::expect_a_copy_has_all_commits(*map, store / "copy", [&](const std::string& copied) {
        kv::MapSettings of_copy = settings();
        of_copy.directory = copied;
        return open_map(of_copy, nullptr);
    });
}

TEST_F(RocksMapTest, ACopyWithNothingInTheLogCanBeOpened) {
    open();
    put(1, "one");
    session->commit();
    map->checkpoint(true);
    const std::string copied = store / "copy";
    map->copy_to({.directory = copied,
                  .before_piece = [](uint64_t) {},
                  .hold_commits = [] {},
                  .may_commit = [] {}});
    close();
    directory = copied;
    open();
    EXPECT_EQ(count(), 1);
    close();
    open();
    EXPECT_EQ(count(), 1);
}

TEST_F(RocksMapTest, ADroppedTableGivesItsSpaceBack) {
    open();
    fill(100, Table{15});
    fill(20'000, kTable);
    fill(100, Table{17});
    map->checkpoint(true);
    const uintmax_t before = bytes_of_files();
    EXPECT_GT(before, uintmax_t{15} << 20);
    map->drop(kTable);
    close();  // the next start goes on with it
    open();
    while (bytes_of_files() > before / 10)
        std::this_thread::yield();
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(count(Table{15}), 100);
    EXPECT_EQ(count(Table{17}), 100);
}

TEST_F(RocksMapTest, LargeRowsLieInFilesOfTheirOwnAndGoWithTheirTable) {
    open();
    constexpr size_t kLarge = size_t{3} << 20;
    fill(100, Table{15});
    fill(7, kTable, kLarge);
    map->checkpoint(true);
    EXPECT_LT(bytes_of_files(".sst"), kLarge / 2);
    EXPECT_GT(bytes_of_files(".blob"), 7 * kLarge);
    open();
    kv::Bytes value;
    ASSERT_TRUE(session->get(kTable, kv::big_endian(5), &value));
    EXPECT_EQ(value.size(), kLarge);
    EXPECT_EQ(count(), 7);
    map->drop(kTable);
    close();
    open();
    while (bytes_of_files(".blob") > 0)
        std::this_thread::yield();
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(count(Table{15}), 100);
}

// Rows come at one end and go at the other. A look at the first one must not walk over all that
// have gone.
TEST_F(RocksMapTest, AQueueDoesNotSlowDown) {
    open("write_buffer_size=262144");
    constexpr int kRows = 60'000, kLength = 10;
    for (int i = 0; i < kRows; ++i) {
        put(i, "some row of a queue, as long as this");
        if (i >= kLength) session->erase(kTable, kv::big_endian(i - kLength));
        if (i % 100 == 0) session->commit();
    }
    session->commit();
    map->checkpoint(true);
    while (walked() > kRows / 10)
        std::this_thread::yield();
    EXPECT_EQ(count(), kLength);
}

// The removed rows would all have room in memory: only looks at the first row tell of them.
TEST_F(RocksMapTest, RemovedRowsLeaveTheMemoryWhereTheyAreInTheWay) {
    open();
    constexpr int kRows = 200'000, kLength = 10;
    uint64_t most = 0;
    for (int i = 0; i < kRows; ++i) {
        put(i, "row");
        if (i >= kLength) session->erase(kTable, kv::big_endian(i - kLength));
        if (i % 100 != 0) continue;
        session->commit();
        most = std::max(most, walked());
    }
    EXPECT_GE(most, kRemovedRowsMany);
    // Until a flush and a compaction have ended some more may come.
    while (walked() > 2 * kRemovedRowsMany)
        std::this_thread::yield();
    EXPECT_EQ(count(), kLength);
}

TEST_F(RocksMapTest, ADiskThatIsNearlyFullRefusesChangesUntilItHasRoomAgain) {
    open();
    map->check_space();
    close();
    files->free_bytes = uint64_t{100} << 20;
    open();
    EXPECT_EQ(failure([&] { map->check_space(); }), base::kOutOfDiskSpace);
    // A change that needs no space, and one that the map has taken already, is written all the
    // same.
    put(1, "a");
    session->commit();
    map->checkpoint(true);
    files->free_bytes = uint64_t{1} << 40;
    while (failure([&] { map->check_space(); }) != 0)
        std::this_thread::yield();
}

TEST_F(RocksMapTest, GoesOnWhenAFullDiskHasRoomAgain) {
    open_and_fill_the_disk();
    EXPECT_EQ(failure([&] { map->check_space(); }), base::kOutOfDiskSpace);
    map->checkpoint(false);  // tells the log alone
    EXPECT_EQ(count(), 1);
    empty_the_disk();
    while (failure([&] { map->check_space(); }) != 0)
        std::this_thread::yield();
    put(2, "b");
    session->commit();
    map->checkpoint(true);
    const std::string after = store / "after";
    files->copy_synced(directory, after);
    close();
    directory = after;
    open();
    EXPECT_EQ(count(), 2);
}

// The library would go on in a thread that nothing waits for, and refuse every other try until
// then.
TEST_F(RocksMapTest, NothingBesideTheMapGoesOnAfterAFullDisk) {
    open_and_fill_the_disk();
    empty_the_disk();
    EXPECT_EQ(failure([&] { map->checkpoint(true); }), 0) << "the first try";
}

// The library gives up if not even a file can be made.
TEST_F(RocksMapTest, WhatOnlyAStartRepairsIsSaid) {
    open();
    put(1, "a");
    session->commit();
    files->has_new_files = false;
    EXPECT_EQ(failure([&] { map->checkpoint(true); }), base::kOutOfDiskSpace);
    files->has_new_files = true;
    try {
        map->check_space();
        ADD_FAILURE() << "no error";
    } catch (const base::Error& error) {
        EXPECT_NE(std::string(error.what()).find("until the server is started again"),
                  std::string::npos)
            << error.what();
    }
    open();
    map->check_space();
    EXPECT_EQ(count(), 1);
}

TEST_F(RocksMapTest, ACommitThatFindsNoRoomEndsTheProcess) {
    open();
    put(1, "a");
    files->is_full = true;
    base::set_fatal_handler(throw_ended);
    try {
        session->commit();
        ADD_FAILURE() << "the disk is full";
    } catch (const Ended& ended) {
        EXPECT_NE(ended.text.find("RocksDB cannot write its log"), std::string::npos);
    }
    base::set_fatal_handler(nullptr);
    files->is_full = false;
}

TEST_F(RocksMapTest, ASyncThatFailsEndsTheProcess) {
    open();
    put(1, "a");
    session->commit();
    base::set_fatal_handler(throw_ended);
    files->syncs_fail = true;
    try {
        map->sync_log();
        ADD_FAILURE() << "the device has failed";
    } catch (const Ended& ended) {
        EXPECT_NE(ended.text.find("RocksDB cannot sync its log"), std::string::npos);
    }
    files->syncs_fail = false;
    base::set_fatal_handler(nullptr);
}

TEST_F(RocksMapTest, ADirectoryOfAnotherProgramIsLeftAlone) {
    rocksdb::DB* other = nullptr;
    rocksdb::Options options;
    options.create_if_missing = true;
    ASSERT_TRUE(rocksdb::DB::Open(options, directory, &other).ok());
    ASSERT_TRUE(other->Put({}, "a", "1").ok());
    delete other;
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

TEST_F(RocksMapTest, AFormatOfAnotherVersionIsNamed) {
    open();
    close();
    std::ofstream(directory + "/FORMAT") << "mongod-dur 2\n";
    EXPECT_NE(refusal().find("FORMAT says \"mongod-dur 2\""), std::string::npos);
}

TEST_F(RocksMapTest, AStartThatWasCutShortIsBegunAgain) {
    std::filesystem::create_directory(directory);
    std::ofstream(directory + "/FORMAT.new") << "mongod";
    open();
    close();
    EXPECT_FALSE(std::filesystem::exists(directory + "/FORMAT.new"));
    // Before the library has said that its files are there, or behind that.
    for (const bool has_current : {false, true}) {
        std::filesystem::rename(directory + "/FORMAT", directory + "/FORMAT.new");
        if (!has_current)
            for (const auto& entry : std::filesystem::directory_iterator(directory)) {
                const std::string name = entry.path().filename();
                if (name != "FORMAT.new" && !name.starts_with("MANIFEST"))
                    std::filesystem::remove(entry.path());
            }
        open();
        EXPECT_EQ(count(), 0);
        close();
        EXPECT_TRUE(std::filesystem::exists(directory + "/FORMAT"));
    }
}

// A start that made the library begin anew would lose all that is there.
TEST_F(RocksMapTest, NoEmptyDatabaseIsMadeWhereOneWas) {
    open();
    fill(100, kTable);
    map->checkpoint(true);
    close();
    const auto refused = [&] {
        try {
            open();
        } catch (const base::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    std::filesystem::rename(directory + "/CURRENT", store / "CURRENT");
    for (int start = 0; start < 2; ++start)
        EXPECT_NE(refused().find("/CURRENT: files of RocksDB are missing"), std::string::npos);
    std::filesystem::rename(store / "CURRENT", directory + "/CURRENT");
    open();
    EXPECT_EQ(count(), 100);
    close();
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        if (entry.path().filename() != "FORMAT") std::filesystem::remove(entry.path());
    EXPECT_NE(refused().find("files of RocksDB are missing"), std::string::npos);
}

TEST_F(RocksMapTest, AMissingLogIsNotTakenForAnEmptyOne) {
    for (const bool is_clean : {false, true}) {
        open();
        put(1, "in a file");
        session->commit();
        map->checkpoint(true);
        put(2, "in the log");
        session->commit();
        map->sync_log();
        const std::string after = store / (is_clean ? "stopped" : "killed");
        if (is_clean) close();
        std::filesystem::copy(directory, after);
        close();
        const std::string kept = std::exchange(directory, after);
        for (const auto& entry : std::filesystem::directory_iterator(directory))
            if (entry.path().extension() == ".log") std::filesystem::remove(entry.path());
        EXPECT_EQ(failure([&] { open(); }), base::kInternalError);
        kv::MapSettings without_log = settings();
        without_log.log = false;
        open_map(without_log, files).reset();
        open();
        EXPECT_EQ(count(), 1);
        close();
        directory = kept;
        std::filesystem::remove_all(directory);
    }
}

TEST_F(RocksMapTest, ADamagedDirectoryIsNotOpened) {
    open();
    put(1, "a");
    session->commit();
    close();
    std::ofstream(directory + "/CURRENT") << "nonsense";
    EXPECT_EQ(failure([&] { open(); }), base::kInternalError);
}

// Else a collection that cannot be read could not be dropped either, and each start would try.
TEST_F(RocksMapTest, ADamagedTableCanBeDropped) {
    open();
    fill(500, kTable);
    fill(100, Table{17});
    map->checkpoint(true);
    close();
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().extension() != ".sst") continue;
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(100'000) << "damage";
    }
    open();
    EXPECT_EQ(failure([&] { count(); }), base::kInternalError);
    map->drop(kTable);
    EXPECT_EQ(count(), 0);
    open();
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(count(Table{17}), 100);
}

TEST_F(RocksMapTest, TheConfigurationIsTakenOrRefusedByName) {
    open("write_buffer_size=8m;compression=kZSTD");
    open(
        "block_based_table_factory={block_size=8k;verify_compression=true}; "
        "max_open_files=64");
    open(
        "compression_opts={level=3;max_dict_bytes=16384}; "
        "compression_per_level=kNoCompression:kSnappyCompression;");
    EXPECT_NE(refusal("write_buffer_size=abc").find("the configuration of RocksDB"),
              std::string::npos);
    EXPECT_NE(refusal("block_based_table_factory={block_size=abc}").find("block_size"),
              std::string::npos);
    EXPECT_NE(refusal("block_based_table_factory=PlainTable").find("block_based_table_factory"),
              std::string::npos);
    EXPECT_NE(refusal("max_bytes_for_level_base=0").find("max_bytes_for_level_base"),
              std::string::npos);
    for (const char* value : {"-1", "30000000"})
        EXPECT_NE(refusal("max_open_files=" + std::string(value)).find("max_open_files"),
                  std::string::npos);
}

TEST_F(RocksMapTest, TheCacheStaysUnderAnotherFormOfTables) {
    const auto cache_bytes = [&] {
        int64_t bytes = 0;
        map->report([&](const std::string_view name, int64_t value) {
            if (name == "cacheCapacityBytes") bytes = value;
        });
        return bytes;
    };
    open();
    const int64_t before = cache_bytes();
    open("block_based_table_factory={block_size=8192}");
    EXPECT_EQ(cache_bytes(), before);
}

// They would lose rows or answers, or make the server depend on what it has not chosen.
TEST_F(RocksMapTest, WordsThatBreakPromisesAreRefusedByName) {
    open();
    for (const char* word : {"nonsense=1",
                             "manual_wal_flush=true",
                             "unordered_write=true",
                             "two_write_queues=true",
                             "comparator=rocksdb.ReverseBytewiseComparator",
                             "merge_operator=put",
                             "wal_recovery_mode=kSkipAnyCorruptedRecords",
                             "best_efforts_recovery=true",
                             "compaction_filter=RemoveEmptyValueCompactionFilter",
                             "compaction_filter_factory=x",
                             "compaction_style=kCompactionStyleFIFO",
                             "ttl=1",
                             "prefix_extractor=fixed:6",
                             "inplace_update_support=true",
                             "memtable_factory=prefix_hash:10",
                             "table_factory=PlainTable",
                             "wal_dir=/tmp",
                             "db_paths={{/tmp,1000}}",
                             "env=mem",
                             "wal_filter=x",
                             "error_if_exists=true",
                             "create_if_missing=true",
                             "paranoid_checks=false",
                             "allow_mmap_writes=true",
                             "recycle_log_file_num=4",
                             "avoid_flush_during_shutdown=true",
                             "disable_auto_compactions=true",
                             "num_levels=1",
                             "block_based_table_factory.no_block_cache=true"}) {
        const std::string name(word, std::string_view(word).find('='));
        for (const std::string& config :
             {std::string(word), "write_buffer_size=8m; " + std::string(word)})
            EXPECT_NE(refusal(config).find("may not set " + name + ","), std::string::npos)
                << config << ": " << refusal(config);
    }
    for (const char* word :
         {"block_cache=1m", "no_block_cache=true", "filter_policy=x", "checksum=kNoChecksum",
          "index_type=kHashSearch", "format_version=2", "id=PlainTable"}) {
        const std::string name(word, std::string_view(word).find('='));
        const std::string text = refusal("block_based_table_factory={" + std::string(word) + "}");
        EXPECT_NE(text.find("block_based_table_factory may not set " + name + ","),
                  std::string::npos)
            << word << ": " << text;
    }
}

TEST_F(RocksMapTest, TheEngineFindsItsCollectionsAfterAPowerCut) {
    const auto start = [&] {
        return std::make_unique<kv::Engine>(open_map(settings(), files),
                                            kv::EngineOptions{.name = "rocksdb"});
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
        files->copy_synced(directory, after);
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
}  // namespace rocks
