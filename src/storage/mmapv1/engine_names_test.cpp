// Files and folders of databases: in which order they come and go, what a start makes of those that
// are there.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/testing/choices.h"
#include "os/testing/failing_file_system.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/testing/engine_documents.h"

namespace mmapv1 {
namespace {

class EngineNames : public testing::Test {
  protected:
    using Call = os::SimFileSystem::Call;

    void open(bool per_db) {
        disk.create_directory("/db");
        EngineOptions options = options_for("/db");
        options.durable.journal_options = kNoCheckSpace;
        options.durable.journal = false;
        options.files.directory_per_db = per_db;
        engine = open_engine(options, disk, os::system_clock());
    }
    void drop(const std::string& db) {
        const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
        engine->drop_database(db);
    }
    std::vector<std::string> steps() {
        std::vector<std::string> result;
        for (const auto& event : disk.events()) {
            if (event.call == Call::create_directory) result.push_back("create " + event.path);
            if (event.call == Call::remove) result.push_back("remove " + event.path);
            if (event.call == Call::sync_directory) result.push_back("sync " + event.path);
        }
        return result;
    }

    os::SimFileSystem disk;
    std::unique_ptr<MmapEngine> engine;
};

TEST_F(EngineNames, ADropIsDurableBeforeTheDataGoes) {
    open(false);
    insert(*engine, "a.c", 0, 1);
    disk.clear_events();
    drop("a");
    EXPECT_EQ(steps(), (std::vector<std::string>{"remove /db/a.ns", "sync /db", "remove /db/a.0",
                                                 "sync /db"}));
    engine->shutdown();
}

TEST_F(EngineNames, FoldersOfDatabasesComeAndGoForGood) {
    open(true);
    disk.clear_events();
    insert(*engine, "a.c", 0, 1);
    const std::vector<std::string> made = steps();
    const auto create = std::find(made.begin(), made.end(), "create /db/a");
    ASSERT_NE(create, made.end());
    EXPECT_NE(std::find(create, made.end(), "sync /db"), made.end());
    disk.clear_events();
    drop("a");
    const std::vector<std::string> dropped = steps();
    EXPECT_EQ(dropped.front(), "remove /db/a/a.ns");
    EXPECT_EQ(dropped.at(1), "sync /db/a");
    EXPECT_EQ(dropped.at(dropped.size() - 2), "remove /db/a");
    EXPECT_EQ(dropped.back(), "sync /db");
    engine->shutdown();
}

// Files of a database that came while the server ran, or that a file system shows by another name.
TEST_F(EngineNames, WhatTheStartHasNotSeenIsNotReplaced) {
    for (const bool per_db : {false, true}) {
        const std::string folder = per_db ? "/db/a/" : "/db/";
        open(per_db);
        insert(*engine, "b.c", 0, 1);
        disk.create_directory("/db/a");
        for (const char* name : {"a.ns", "a.0"}) {
            const uint8_t theirs[] = {1, 2, 3};
            disk.open(folder + name, {.access = os::Access::write, .create = true})->write(theirs);
        }
        EXPECT_THROW(insert(*engine, "a.c", 0, 1), base::Error);
        for (const char* name : {"a.ns", "a.0"})
            EXPECT_EQ(disk.file_length(folder + name), 3U) << name;
        insert(*engine, "b.c", 1, 2);
        engine->shutdown();
        engine.reset();
        disk.remove_all("/db");
    }
}

TEST_F(EngineNames, ADatabaseWhoseFileCannotBeRemovedStaysAsItIs) {
    open(false);
    insert(*engine, "a.c", 0, 5);
    disk.fail(Call::remove, "a.ns", std::errc::io_error);
    EXPECT_THROW(drop("a"), base::Error);
    EXPECT_EQ(count(*engine, "a.c"), 5);
    insert(*engine, "a.c", 5, 7);
    EXPECT_EQ(count(*engine, "a.c"), 7);
    drop("a");
    EXPECT_EQ(count(*engine, "a.c"), -1);
    engine->shutdown();
}

TEST_F(EngineNames, ADropThatWasCutShortLeavesNothingToTheNextDatabase) {
    open(false);
    insert(*engine, "a.c", 0, 1);
    insert(*engine, "a.c", 1, 13, std::string(2 << 20, 'x'));  // into a second data file
    ASSERT_TRUE(disk.exists("/db/a.1"));
    disk.fail(Call::remove, "a.1", std::errc::io_error);
    EXPECT_THROW(drop("a"), base::Error);
    EXPECT_EQ(engine->database_names(), std::vector<std::string>{});
    ASSERT_FALSE(disk.exists("/db/a.0"));
    ASSERT_TRUE(disk.exists("/db/a.1"));
    insert(*engine, "a.c", 0, 1);
    EXPECT_FALSE(disk.exists("/db/a.1"));
    insert(*engine, "a.c", 1, 13, std::string(2 << 20, 'x'));
    EXPECT_EQ(count(*engine, "a.c"), 13);
    expect_valid(*engine);
    engine->shutdown();
}

// A power cut brings names back, one by one, until their directory is synced.
TEST_F(EngineNames, WhatADropHasLeftGoesAfterTheNamespaceFileIsGoneForGood) {
    open(true);
    insert(*engine, "a.c", 0, 1);
    disk.fail(Call::sync_directory, "/a", std::errc::io_error);
    EXPECT_THROW(drop("a"), base::Error);
    disk.clear_events();
    insert(*engine, "a.c", 0, 1);
    const std::vector<std::string> made = steps();
    ASSERT_GE(made.size(), 2u);
    EXPECT_EQ(made.at(0), "sync /db/a");
    EXPECT_EQ(made.at(1), "remove /db/a/a.0");
    engine->shutdown();
}

TEST_F(EngineNames, AStartSyncsTheFoldersOfDatabases) {
    open(true);
    insert(*engine, "a.c", 0, 1);
    engine->shutdown();
    engine.reset();
    disk.clear_events();
    open(true);
    const std::vector<std::string> made = steps();
    EXPECT_NE(std::find(made.begin(), made.end(), "sync /db/a"), made.end());
    engine->shutdown();
}

// With nothing else in its folder, which then shows no file of a database any more.
TEST_F(EngineNames, ADatabaseOfANamespaceFileAloneStaysDroppedAsAStartHasShown) {
    for (const bool per_db : {false, true}) {
        os::SimFileSystem first;
        first.create_directory("/db");
        EngineOptions options = options_for("/db");
        options.durable.journal_options = kNoCheckSpace;
        options.files.directory_per_db = per_db;
        const auto start_on = [&](os::SimFileSystem& files) {
            return open_engine(options, files, os::system_clock());
        };
        const std::string path = per_db ? "/db/a/a.ns" : "/db/a.ns";
        std::unique_ptr<os::SimFileSystem> killed;
        // The journal's thread calls it too, from the start on.
        std::mutex mutex;
        bool unlinked = false;
        first.set_observer([&](const os::SimFileSystem::Event& event) {
            const std::lock_guard guard(mutex);
            if (unlinked && !killed) killed = first.process_kill();
            unlinked = unlinked || (event.call == Call::remove && event.path == path);
        });
        {
            const auto made = start_on(first);
            const storage::GlobalLock lock(made->locks(), storage::GlobalMode::W);
            made->create_database("a");
            ASSERT_TRUE(first.exists(path));
            made->drop_database("a");
            const std::lock_guard guard(mutex);
            ASSERT_TRUE(killed);
        }
        const auto again = start_on(*killed);
        EXPECT_EQ(again->database_names(), std::vector<std::string>{});
        os::SampledChoices nothing_unsynced_survives(0);
        const auto cut = killed->power_cut(nothing_unsynced_survives, 4096);
        EXPECT_EQ(start_on(*cut)->database_names(), std::vector<std::string>{});
    }
}

// And the dbpath itself once more before the recovery, for what a crash has left in _tmp.
TEST_F(EngineNames, AStartListsTheFoldersOfDatabasesOnce) {
    for (const bool per_db : {false, true}) {
        os::SimFileSystem files;
        files.create_directory("/db");
        EngineOptions options = options_for("/db");
        options.durable.journal = false;
        options.files.directory_per_db = per_db;
        {
            const auto engine = open_engine(options, files, os::system_clock());
            insert(*engine, "a.c", 0, 1);
            engine->shutdown();
        }
        os::FailingFileSystem counting(files);
        counting.arm(0);
        open_engine(options, counting, os::system_clock())->shutdown();
        // For the lock file; for databases of the other layout; for those that it opens.
        EXPECT_EQ(counting.times_listed("/db"), 3) << per_db;
        EXPECT_EQ(counting.times_listed("/db/a"), per_db ? 1 : 0);
    }
}

// Only root may look into it.
TEST_F(EngineNames, AStartLeavesWhatTheFileSystemKeepsForItselfAlone) {
    for (const bool per_db : {false, true}) {
        for (const char* refused : {"/lost+found", "lost+found/lost+found.ns", "lost+found/_tmp"}) {
            os::SimFileSystem files;
            files.create_directory("/db");
            files.create_directory("/db/lost+found");
            // Unclean, so that a start asks whether there is any database.
            const uint8_t mark[] = {'1', '\n'};
            files.open("/db/mongod.lock", {.access = os::Access::read_write, .create = true})
                ->write_at(0, mark);
            os::FailingFileSystem not_roots(files);
            not_roots.refuse(refused, std::errc::permission_denied);
            EngineOptions options = options_for("/db");
            options.files.directory_per_db = per_db;
            const auto started = open_engine(options, not_roots, os::system_clock());
            insert(*started, "a.c", 0, 1);
            EXPECT_EQ(count(*started, "a.c"), 1);
            started->shutdown();
        }
    }
}

TEST_F(EngineNames, ADatabaseThatCannotBeSeenOnceIsNotTakenForNone) {
    using Kind = os::FailingFileSystem::Kind;
    for (const bool per_db : {false, true}) {
        os::SimFileSystem files;
        files.create_directory("/db");
        EngineOptions options = options_for("/db");
        options.durable.journal = false;
        options.files.directory_per_db = per_db;
        const auto start_on = [&](os::FileSystem& disk) {
            return open_engine(options, disk, os::system_clock());
        };
        {
            const auto first = start_on(files);
            insert(*first, "a.c", 0, 1);
            first->shutdown();
        }
        os::FailingFileSystem whole(files);
        whole.arm(0);
        start_on(whole)->shutdown();
        const std::vector<Kind> calls = whole.calls();
        int failed = 0;
        for (size_t i = 0; i < calls.size(); ++i) {
            if (calls[i] != Kind::look) continue;
            const auto copy = files.process_kill();
            os::FailingFileSystem disk(*copy);
            disk.arm(static_cast<int64_t>(i) + 1);
            try {
                const auto started = start_on(disk);
                failed += disk.has_failed();
                disk.disarm();
                EXPECT_EQ(count(*started, "a.c"), 1) << "call " << i;
                started->shutdown();
            } catch (const std::exception&) {
                // It is reported.
                failed += disk.has_failed();
            }
        }
        EXPECT_GT(failed, 3);
    }
}

// The folder's contents must stay, so it is synced before the database is used.
TEST_F(EngineNames, ADatabaseWhoseFolderCannotBeListedIsOpenedWhenItCanBeSynced) {
    os::SimFileSystem files;
    files.create_directory("/db");
    EngineOptions options = options_for("/db");
    options.files.directory_per_db = true;
    {
        const auto first = open_engine(options, files, os::system_clock());
        insert(*first, "a.c", 0, 1);
        first->shutdown();
    }
    os::FailingFileSystem whole(files);
    whole.arm(0);
    open_engine(options, whole, os::system_clock())->shutdown();
    const auto calls = static_cast<int64_t>(whole.calls().size());
    int not_listed = 0;
    for (int64_t n = 1; n <= calls; ++n) {
        if (whole.calls()[static_cast<size_t>(n - 1)] != os::FailingFileSystem::Kind::look)
            continue;
        const auto copy = files.process_kill();
        os::FailingFileSystem disk(*copy);
        disk.arm(n, std::errc::too_many_files_open);
        std::unique_ptr<MmapEngine> started;
        try {
            started = open_engine(options, disk, os::system_clock());
        } catch (const std::exception&) {
            continue;  // it is reported
        }
        disk.disarm();
        if (!started->unusable_databases().empty()) {
            ++not_listed;
            const auto open_again = [&] {
                const storage::GlobalLock lock(started->locks(), storage::GlobalMode::W);
                EXPECT_TRUE(started->may_open_now("a"));
                return started->open_again("a");
            };
            disk.refuse("/db/a", std::errc::io_error);
            EXPECT_FALSE(open_again());
            EXPECT_EQ(started->unusable_databases(), std::vector<std::string>{"a"});
            disk.refuse("", {});
            EXPECT_TRUE(open_again());
        }
        EXPECT_EQ(count(*started, "a.c"), 1);
        started->shutdown();
    }
    EXPECT_GT(not_listed, 0);
}

TEST_F(EngineNames, ADropThatHasFailedIsFinishedByTheNext) {
    open(false);
    insert(*engine, "a.c", 0, 1);
    for (int i = 0; i < 2; ++i)
        disk.fail(Call::sync_directory, "/db", std::errc::io_error);
    EXPECT_THROW(drop("a"), base::Error);
    EXPECT_TRUE(disk.exists("/db/a.0"));
    const auto finish = [&] {
        const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
        engine->finish_drop("a");
    };
    EXPECT_THROW(finish(), base::Error);
    disk.clear_events();
    finish();
    const std::vector<std::string> finished{"sync /db", "remove /db/a.0", "sync /db"};
    EXPECT_EQ(steps(), finished);
    finish();
    EXPECT_EQ(steps(), finished);
    engine->shutdown();
}

TEST_F(EngineNames, AFileMadeInAdvanceIsThereForGoodBeforeItIsUsed) {
    open(false);
    insert(*engine, "a.c", 0, 1);
    disk.open("/db/a.1", {.access = os::Access::read_write, .create = true})->allocate(64 << 20);
    disk.clear_events();
    insert(*engine, "a.c", 1, 6, std::string(2 << 20, 'x'));
    std::vector<std::string> made;
    for (const auto& event : disk.events()) {
        if (event.call == Call::sync) made.push_back("sync " + event.path);
        if (event.call == Call::sync_directory) made.push_back("sync names in " + event.path);
        if (event.call == Call::map) made.push_back("map " + event.path);
    }
    ASSERT_GE(made.size(), 3u);
    made.resize(3);
    EXPECT_EQ(made, (std::vector<std::string>{"sync /db/a.1", "sync names in /db", "map /db/a.1"}));
    engine->shutdown();
}

TEST_F(EngineNames, ADatabaseThatCannotBeMadeLeavesNoFile) {
    open(false);
    disk.fail(Call::map, "a.ns", std::errc::not_enough_memory);
    EXPECT_THROW(insert(*engine, "a.c", 0, 1), base::Error);
    EXPECT_FALSE(disk.exists("/db/a.ns"));
    insert(*engine, "a.c", 0, 1);
    EXPECT_EQ(count(*engine, "a.c"), 1);
    engine->shutdown();
}

// Nor does a power cut bring one back that the system had already.
TEST_F(EngineNames, ADatabaseThatCouldNotBeMadeIsNotThereAfterAPowerCut) {
    const std::vector<std::pair<Call, std::errc>> ways = {
        {Call::map, std::errc::not_enough_memory}, {Call::sync_directory, std::errc::io_error}};
    for (const bool per_db : {false, true}) {
        for (const auto& [call, reason] : ways) {
            os::SimFileSystem files;
            files.create_directory("/db");
            EngineOptions options = options_for("/db");
            options.durable.journal_options = kNoCheckSpace;
            options.files.directory_per_db = per_db;
            const auto made = open_engine(options, files, os::system_clock());
            const std::string folder = per_db ? "/db/a" : "/db";
            files.fail(call, call == Call::map ? "a.ns" : folder, reason);
            EXPECT_THROW(insert(*made, "a.c", 0, 1), base::Error);
            for (const unsigned all_unsynced : {0U, 1U}) {
                os::SampledChoices choices(all_unsynced);
                const auto cut = files.power_cut(choices, 4096);
                EXPECT_EQ(open_engine(options, *cut, os::system_clock())->database_names(),
                          std::vector<std::string>{})
                    << per_db << " " << static_cast<int>(call) << " " << all_unsynced;
            }
        }
    }
}

// A file of an old database must not reappear beside a new namespace file.
TEST_F(EngineNames, WhatADropHasLeftIsGoneForGoodBeforeTheNextDatabaseIsThere) {
    for (const bool per_db : {false, true}) {
        os::SimFileSystem files;
        files.create_directory("/db");
        EngineOptions options = options_for("/db");
        options.durable.journal_options = kNoCheckSpace;
        options.files.directory_per_db = per_db;
        const std::string data = per_db ? "/db/a/a.0" : "/db/a.0";
        // The journal's thread calls it too, from the start on.
        std::atomic<bool> dropped{false};
        std::atomic<bool> named{false};
        files.set_observer([&](const os::SimFileSystem::Event& event) {
            if (!dropped || event.call != Call::rename || named.exchange(true)) return;
            os::SampledChoices nothing_unsynced_survives(0);
            const auto cut = files.power_cut(nothing_unsynced_survives, 4096);
            EXPECT_FALSE(cut->exists(data)) << per_db;
        });
        const auto made = open_engine(options, files, os::system_clock());
        insert(*made, "a.c", 0, 1);
        files.fail(Call::remove, "a.0", std::errc::io_error);
        {
            const storage::GlobalLock lock(made->locks(), storage::GlobalMode::W);
            EXPECT_THROW(made->drop_database("a"), base::Error);
        }
        ASSERT_TRUE(files.exists(data));
        dropped = true;
        insert(*made, "a.c", 0, 1);
        EXPECT_TRUE(named);
        made->shutdown();
    }
}

TEST_F(EngineNames, TheLockFileIsEmptiedLast) {
    open(false);
    insert(*engine, "a.c", 0, 1);
    disk.clear_events();
    engine->shutdown();
    const auto events = disk.events();
    const auto emptied = std::find_if(events.begin(), events.end(), [](const auto& event) {
        return event.call == Call::truncate && event.path == "/db/mongod.lock";
    });
    ASSERT_NE(emptied, events.end());
    EXPECT_TRUE(std::any_of(events.begin(), emptied,
                            [](const auto& event) { return event.call == Call::sync_mapping; }));
    EXPECT_TRUE(std::none_of(emptied, events.end(),
                             [](const auto& event) { return event.call == Call::sync_mapping; }));
}

}  // namespace
}  // namespace mmapv1
