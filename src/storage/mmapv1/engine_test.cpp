// The engine over real directories: start, stop, crash, and the directories of a 2.6 server.
#include "storage/mmapv1/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "os/testing/directory.h"
#include "os/testing/fixture.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/commit/durable.h"
#include "storage/mmapv1/mapping/dbpath_lock.h"
#include "storage/mmapv1/testing/engine_documents.h"

namespace mmapv1 {
namespace {

TEST(Engine, KeepsWhatItWasGiven) {
    for (const bool per_db : {false, true}) {
        const os::TestDirectory home;
        EngineOptions options = options_for(home.path());
        options.files.directory_per_db = per_db;
        {
            const auto engine = open_engine(options);
            insert(*engine, "a.c", 0, 1000);
            insert(*engine, "b.c", 0, 10);
            EXPECT_EQ(engine->database_names(), (std::vector<std::string>{"a", "b"}));
            EXPECT_EQ(engine->database_bytes("a"), (16 << 20) + (1 << 20));
            EXPECT_EQ(std::filesystem::exists(home / "a/a.ns"), per_db);
            engine->shutdown();
        }
        EXPECT_EQ(std::filesystem::file_size(home / "mongod.lock"), 0u);
        const auto engine = open_engine(options);
        EXPECT_EQ(count(*engine, "a.c"), 1000);
        EXPECT_EQ(count(*engine, "b.c"), 10);
        EXPECT_EQ(count(*engine, "c.c"), -1);
        insert(*engine, "a.c", 1000, 1010);
        EXPECT_EQ(count(*engine, "a.c"), 1010);
        expect_valid(*engine);
        engine->shutdown();
    }
}

// Damage in every document is reported without a text for each.
TEST(Engine, AValidationTellsSoManyErrorsAndCountsTheOthers) {
    constexpr size_t kDocuments = storage::ValidateReport::kErrorsMax + 500;
    const os::TestDirectory home;
    const auto engine = open_engine(options_for(home.path()));
    insert(*engine, "a.c", 0, static_cast<int>(kDocuments));
    {
        const storage::DatabaseLock lock(engine->locks(), "a", true);
        storage::CollectionStore& collection = *engine->database("a")->collection("a.c");
        collection.begin_index(
            bson::make("v", 1, "key", bson::make("x", 1), "name", "x", "ns", "a.c"));
        collection.finish_index(0);
        storage::ValidateOptions options;
        options.full = true;
        // More than one key, of an index that is not marked so.
        options.derive_keys = [](bson::Doc, bson::Doc, const auto& add) {
            add(bson::make("", 1));
            add(bson::make("", 2));
        };
        bson::Builder metrics;
        const storage::ValidateReport report = collection.validate(options, metrics);
        EXPECT_FALSE(report.valid());
        EXPECT_EQ(report.errors.size(), storage::ValidateReport::kErrorsMax);
        // And one for the entries that the index lacks.
        EXPECT_EQ(report.errors_left_out,
                  static_cast<int64_t>(kDocuments + 1 - report.errors.size()));
    }
    engine->shutdown();
}

// Returns the open files that no name leads to any more.
std::vector<std::string> dropped_files_open_below(const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(each.path(), gone).string();
        if (target.starts_with(directory) && target.ends_with(" (deleted)"))
            found.push_back(std::filesystem::path(target).filename().string());
    }
    std::ranges::sort(found);
    return found;
}

TEST(Engine, TheSpaceOfADroppedDatabaseIsFreedWhenItsRemainsAreLetGo) {
    const os::TestDirectory home;
    const auto engine = open_engine(options_for(home.path()));
    insert(*engine, "gone.c", 0, 100);
    std::unique_ptr<storage::Remains> remains;
    {
        const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
        remains = engine->drop_database("gone");
    }
    EXPECT_EQ(dropped_files_open_below(home.path()),
              (std::vector<std::string>{"gone.0 (deleted)", "gone.ns (deleted)"}));
    insert(*engine, "gone.c", 0, 5);
    remains.reset();
    EXPECT_EQ(dropped_files_open_below(home.path()), std::vector<std::string>{});
    EXPECT_EQ(count(*engine, "gone.c"), 5);
    engine->shutdown();
}

TEST(Engine, DropsAndClosesDatabases) {
    for (const bool per_db : {false, true}) {
        const os::TestDirectory home;
        EngineOptions options = options_for(home.path());
        options.files.directory_per_db = per_db;
        const auto engine = open_engine(options);
        insert(*engine, "gone.c", 0, 100);
        insert(*engine, "kept.c", 0, 100);
        {
            const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
            engine->drop_database("gone");
            engine->close_database("kept");
        }
        EXPECT_EQ(engine->database_names(), std::vector<std::string>{"kept"});
        for (const char* name : {"gone.ns", "gone.0", "gone"})
            EXPECT_FALSE(std::filesystem::exists(home / name)) << name;
        EXPECT_EQ(count(*engine, "kept.c"), 100);
        insert(*engine, "gone.c", 0, 5);
        EXPECT_EQ(count(*engine, "gone.c"), 5);
        expect_valid(*engine);
        engine->shutdown();
    }
}

TEST(Engine, ACompactThatEndsHalfWayLeaksNoSpace) {
    for (const int copies : {0, 1, 150, 399}) {
        const os::TestDirectory home;
        const auto engine = open_engine(options_for(home.path()));
        insert(*engine, "a.c", 0, 600, std::string(100, 'x'));
        {
            const storage::DatabaseLock lock(engine->locks(), "a", true);
            storage::CollectionStore& c = *engine->database("a")->collection("a.c");
            std::vector<storage::RecordId> removed;
            const auto cursor = c.records().cursor(storage::Direction::forward);
            while (const auto record = cursor->next())
                if (record->doc["_id"].as_int32() % 3 == 0) removed.push_back(record->id);
            for (const storage::RecordId id : removed)
                c.records().remove(id);
            int copied = 0;
            const auto end = [&] {
                if (copied++ == copies) base::fail(base::kInterrupted, "killed");
            };
            storage::CompactHooks hooks;
            hooks.before_copy = end;
            hooks.copied = [&](const storage::Record&) { end(); };
            bson::Builder out;
            EXPECT_THROW(c.compact(bson::make("compact", "c"), hooks, out), base::Error);
        }
        EXPECT_EQ(count(*engine, "a.c"), 400);
        expect_valid(*engine);
        insert(*engine, "a.c", 600, 700, std::string(100, 'x'));
        expect_valid(*engine);
        engine->shutdown();
    }
}

TEST(Engine, RecoversAfterACrash) {
    const os::TestDirectory home;
    const os::TestDirectory copy;
    const auto engine = open_engine(options_for(home.path()));
    insert(*engine, "a.c", 0, 5000);
    insert(*engine, "b.c", 0, 10);
    {
        const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
        engine->drop_database("b");
    }
    insert(*engine, "b.c", 0, 20);
    engine->durability().await_commit_blocking();
    {
        // A killed process leaves the files like this: nothing moves while the commits are held.
        engine->durability().lock_commits();
        std::filesystem::copy(home.path(), copy.path(),
                              std::filesystem::copy_options::recursive |
                                  std::filesystem::copy_options::overwrite_existing);
        engine->durability().unlock_commits();
    }
    engine->shutdown();

    const auto again = open_engine(options_for(copy.path()));
    EXPECT_EQ(count(*again, "a.c"), 5000);
    EXPECT_EQ(count(*again, "b.c"), 20);
    expect_valid(*again);
    again->shutdown();
}

// On the simulated disk: the names of files that were removed and directories that were synced.
TEST(Engine, ADroppedDatabaseIsNotBroughtBackByTheJournal) {
    os::SimFileSystem disk;
    disk.create_directory("/db");
    EngineOptions options = options_for("/db");
    options.durable.journal_options = kNoCheckSpace;
    const auto engine = open_engine(options, disk, os::system_clock());
    insert(*engine, "a.c", 0, 10);
    engine->durability().await_commit_blocking();
    {
        const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
        engine->drop_database("a");
    }
    const auto killed = disk.process_kill();
    engine->shutdown();
    const auto again = open_engine(options, *killed, os::system_clock());
    EXPECT_EQ(again->database_names(), std::vector<std::string>{});
    EXPECT_FALSE(killed->exists("/db/a.ns"));
    again->shutdown();
}

// Whatever a kill or a power cut interrupts, the directory must be accepted at the next start: an
// empty journal/ beside an unclean lock file is refused.
TEST(Engine, IsNeverKilledIntoADirectoryThatItRefuses) {
    os::SimFileSystem disk;
    disk.create_directory("/db");
    disk.sync_directory("/");
    // Enough of a database for this rule; a whole one makes each copy of the disk slow.
    disk.open("/db/a.ns", {.access = os::Access::read_write, .create = true})->sync();
    disk.sync_directory("/db");
    int points = 0;
    std::mutex mutex;
    const auto expect_accepted = [](os::SimFileSystem& state, const std::string& where) {
        try {
            DbpathLock(state, "/db").check(true, false);
        } catch (const base::Error& e) {
            ADD_FAILURE() << where << ": " << e.what();
        }
    };
    // The next start, as far as its lock file; then the power is cut.
    const auto expect_accepted_later = [&](os::SimFileSystem& killed, const std::string& where) {
        storage::LockManager locks;
        Durable durable({.dbpath = "/db", .journal_options = kNoCheckSpace}, locks, killed);
        DbpathLock lock(killed, "/db");
        durable.claim_journal();
        lock.mark_running();
        os::EveryChoice nothing_survives;
        expect_accepted(*killed.power_cut(nothing_survives, 4096), where);
    };
    disk.set_observer([&](const os::SimFileSystem::Event& event) {
        const bool in_journal = event.path.starts_with("/db/journal");
        if (!in_journal && event.path != "/db/mongod.lock") return;
        const std::lock_guard guard(mutex);
        ++points;
        const std::string where =
            fmt::format("before call {} on {}", static_cast<int>(event.call), event.path);
        const auto killed = disk.process_kill();
        expect_accepted(*killed, where);
        expect_accepted_later(*killed, where + ", a start, power cut");
        os::EveryChoice nothing_survives;
        expect_accepted(*disk.power_cut(nothing_survives, 4096), where + ", power cut");
    });
    for (int session = 0; session < 2; ++session) {
        const auto engine = open_engine(options_for("/db"), disk, os::system_clock());
        {
            const storage::GlobalLock lock(engine->locks(), storage::GlobalMode::W);
            engine->durability().sync_and_truncate_journal();
        }
        engine->shutdown();
    }
    disk.set_observer(nullptr);
    EXPECT_GT(points, 40);
    EXPECT_TRUE(disk.list("/db/journal").empty());
}

TEST(Engine, RefusesOtherPeoplesDirectories) {
    const auto attempt = [](const bson::Object& metadata) {
        const os::TestDirectory home;
        std::ofstream(home / "storage.bson", std::ios::binary)
            .write(reinterpret_cast<const char*>(metadata.bytes().data()), metadata.size());
        open_engine(options_for(home.path()))->shutdown();
    };
    const auto metadata = [](const char* engine, bool per_db) {
        return bson::make("storage", bson::make("engine", engine, "options",
                                                bson::make("directoryPerDB", per_db)));
    };
    attempt(metadata("mmapv1", false));
    EXPECT_THROW(attempt(metadata("wiredTiger", false)), base::Error);
    EXPECT_THROW(attempt(metadata("mmapv1", true)), base::Error);
}

std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const base::Error& error) {
        return error.what();
    }
    return "no error";
}

// Databases that lie in the other way would be invisible, and the server would seem empty.
TEST(Engine, RefusesTheWrongDirectoryPerDbByName) {
    for (const bool per_db : {false, true}) {
        const os::TestDirectory home;
        EngineOptions options = options_for(home.path());
        const auto insert_into = [&](const char* ns, bool so) {
            options.files.directory_per_db = so;
            const auto engine = open_engine(options);
            insert(*engine, ns, 0, 3);
            engine->shutdown();
        };
        const auto refusal = [&](bool so) {
            options.files.directory_per_db = so;
            return error_of([&] { open_engine(options); });
        };
        // Every start makes `local`, so that says nothing.
        insert_into("local.startup_log", per_db);
        insert_into("local.startup_log", !per_db);
        insert_into("shop.orders", per_db);
        const std::string lock = home / "mongod.lock";
        const std::string journal = home / "journal";
        std::filesystem::remove_all(journal);
        const std::string text = refusal(!per_db);
        EXPECT_NE(text.find(per_db ? "was made with --directoryperdb" : "was made without"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find(per_db ? "shop/shop.ns" : "shop.ns"), std::string::npos) << text;
        EXPECT_EQ(std::filesystem::file_size(lock), 0u) << "nothing was begun";
        EXPECT_FALSE(std::filesystem::exists(journal));

        // A server that did not look has left this file.
        const std::string beside = home / (per_db ? "late.ns" : "late/late.ns");
        std::filesystem::create_directories(std::filesystem::path(beside).parent_path());
        std::filesystem::copy(home / (per_db ? "shop/shop.ns" : "shop.ns"), beside);
        for (const bool so : {false, true})
            EXPECT_NE(refusal(so).find("move one kind into a dbpath of its own"), std::string::npos)
                << refusal(so);
        std::filesystem::remove(beside);
        insert_into("shop.orders", per_db);
    }
}

TEST(Engine, TwoServersCannotShareADirectory) {
    const os::TestDirectory home;
    const auto engine = open_engine(options_for(home.path()));
    EXPECT_THROW(open_engine(options_for(home.path())), base::Error);
    insert(*engine, "a.c", 0, 1);
    engine->shutdown();
}

TEST(Engine, ADamagedDatabaseDoesNotAffectTheOthers) {
    const os::TestDirectory home;
    {
        const auto engine = open_engine(options_for(home.path()));
        insert(*engine, "bad.c", 0, 10);
        insert(*engine, "good.c", 0, 10);
        engine->shutdown();
    }
    std::fstream(home / "bad.0", std::ios::binary | std::ios::in | std::ios::out)
        .write("\x09", 1);  // version 9
    const auto engine = open_engine(options_for(home.path()));
    EXPECT_EQ(count(*engine, "good.c"), 10);
    EXPECT_THROW(count(*engine, "bad.c"), base::Error);
    engine->shutdown();
}

// A copy that was cut, or lost a file, must not be taken for a smaller database.
TEST(Engine, FilesThatAreCutOrMissingAreNamed) {
    const os::TestDirectory home;
    {
        const auto engine = open_engine(options_for(home.path()));
        for (const char* ns : {"cut.c", "odd.c", "lost.c", "good.c"})
            insert(*engine, ns, 0, 10);
        insert(*engine, "lost.c", 10, 30, std::string(1 << 20, 'x'));  // into a second data file
        engine->shutdown();
    }
    std::filesystem::resize_file(home / "cut.0", 12 << 20);
    std::filesystem::resize_file(home / "odd.ns", 700000);
    ASSERT_TRUE(std::filesystem::remove(home / "lost.1"));
    const auto engine = open_engine(options_for(home.path()));
    EXPECT_EQ(count(*engine, "good.c"), 10);
    EXPECT_NE(error_of([&] { count(*engine, "cut.c"); }).find("cut.0 has 12582912 bytes"),
              std::string::npos);
    EXPECT_NE(error_of([&] { count(*engine, "odd.c"); }).find("odd.ns has 700000 bytes"),
              std::string::npos);
    EXPECT_NE(error_of([&] { insert(*engine, "lost.d", 0, 1); }).find("lost.1 is missing"),
              std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(home / "lost.1"));
    engine->shutdown();
}

std::string log_of_a_start(const EngineOptions& options) {
    std::string lines;
    std::mutex mutex;
    base::log::set_sink([&](base::log::Severity, std::string_view line) {
        const std::lock_guard guard(mutex);
        lines += line;
    });
    const auto engine = open_engine(options);
    base::log::set_sink(nullptr);
    engine->shutdown();
    return lines;
}

// They would be invisible, and a new database of that name takes their place.
TEST(Engine, DataFilesWithoutANamespaceFileAreSpokenOf) {
    const os::TestDirectory home;
    {
        const auto engine = open_engine(options_for(home.path()));
        insert(*engine, "lost.c", 0, 10);
        engine->shutdown();
    }
    std::filesystem::remove(home / "lost.ns");
    const std::string lines = log_of_a_start(options_for(home.path()));
    EXPECT_NE(lines.find("database lost has data files and no namespace file lost.ns"),
              std::string::npos)
        << lines;
}

TEST(Engine, NothingInADirectoryIsPassedOverWithoutAWord) {
    for (const bool per_db : {false, true}) {
        const os::TestDirectory home;
        EngineOptions options = options_for(home.path());
        options.files.directory_per_db = per_db;
        {
            const auto engine = open_engine(options);
            insert(*engine, "local.mine", 0, 3);
            insert(*engine, "lost.c", 0, 3);
            engine->shutdown();
        }
        std::filesystem::remove(home / (per_db ? "lost/lost.ns" : "lost.ns"));
        std::filesystem::create_directory_symlink("/nowhere", home / "linked");
        const auto says = [&](const std::string& lines, const std::string& words) {
            EXPECT_NE(lines.find(words), std::string::npos) << words << " in " << lines;
        };
        const std::string link = (home / "linked") + " is a symbolic link";
        std::string lines = log_of_a_start(options);
        says(lines, "database lost has data files and no namespace file");
        says(lines, link);

        options.files.directory_per_db = !per_db;
        lines = log_of_a_start(options);
        const std::string how = per_db ? " with --directoryperdb" : " without --directoryperdb";
        says(lines, (home / (per_db ? "local/local.ns" : "local.ns")) + " was made" + how);
        says(lines, "data files of a database lost that was made" + how);
        says(lines, link);
    }
}

// One line of a fixture's expectation: all documents of a collection, its index definitions.
struct Expected {
    std::vector<bson::Object> docs;
    std::vector<bson::Object> indexes;
};

// The client that recorded the expectation shows UUIDs under their old subtype, 3.
std::string with_new_uuids(std::string json) {
    const std::string old_subtype = "\"subType\": \"03\"";
    for (size_t at = 0; (at = json.find(old_subtype, at)) != std::string::npos; at++)
        json.replace(at, old_subtype.size(), "\"subType\": \"04\"");
    return json;
}

std::map<std::string, Expected> read_expected(const std::string& path) {
    std::map<std::string, Expected> expected;
    std::ifstream in(path);
    std::string line;
    while (std::getline(in, line)) {
        const bson::Object object = bson::from_json(with_new_uuids(line));
        Expected& entry = expected[std::string(object["ns"].as_string())];
        if (const bson::Element doc = object["doc"])
            entry.docs.emplace_back(doc.as_doc());
        else
            for (const bson::Element& index : object["indexes"].as_doc())
                entry.indexes.emplace_back(index.as_doc());
    }
    return expected;
}

class Fixture26 : public ::testing::TestWithParam<const char*> {};

TEST_P(Fixture26, ReadsAsExpectedAndStaysValid) {
    const os::TestDirectory home;
    const std::string name = GetParam();
    os::unpack_fixture(name + ".tar.xz", home.path());
    const auto expected = read_expected(os::unpack_text(name + ".expected.jsonl.xz", home / "e"));
    ASSERT_FALSE(expected.empty());
    const auto engine = open_engine(options_for(home.path()));
    expect_valid(*engine);
    for (const auto& [ns, wanted] : expected) {
        const std::string db = ns.substr(0, ns.find('.'));
        const storage::DatabaseLock lock(engine->locks(), db, true);
        ASSERT_NE(engine->database(db), nullptr) << db;
        storage::CollectionStore* collection = engine->database(db)->collection(ns);
        ASSERT_NE(collection, nullptr) << ns;
        size_t i = 0;
        const auto cursor = collection->records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next()) {
            ASSERT_LT(i, wanted.docs.size()) << ns;
            EXPECT_EQ(bson::to_json(record->doc), bson::to_json(wanted.docs[i])) << ns;
            i++;
        }
        EXPECT_EQ(i, wanted.docs.size()) << ns;
        std::map<std::string, std::string> indexes;
        for (int slot = 0; slot < collection->index_count(); slot++)
            indexes[collection->index(slot).name] = bson::to_json(collection->index(slot).spec);
        ASSERT_EQ(indexes.size(), wanted.indexes.size()) << ns;
        auto it = indexes.begin();
        for (const bson::Object& index : wanted.indexes)
            EXPECT_EQ((it++)->second, bson::to_json(index)) << ns;
        bson::Builder reply;
        const storage::ValidateReport report =
            collection->validate({.full = true, .scan_data = true, .derive_keys = {}}, reply);
        EXPECT_TRUE(report.valid()) << testing::PrintToString(report.errors);
        // It can be written, too.
        if (!collection->records().capped())
            for (int n = 0; n < 500; n++)
                collection->records().remove(
                    collection->records().insert(bson::make("n", n, "pad", std::string(999, 'x'))));
    }
    expect_valid(*engine);
    engine->shutdown();
}

INSTANTIATE_TEST_SUITE_P(All, Fixture26,
                         ::testing::Values("mmapv1-2.6-clean", "mmapv1-2.6-powercut"),
                         [](const auto& info) {
                             return std::string(info.param).substr(sizeof "mmapv1-2.6-" - 1);
                         });

}  // namespace
}  // namespace mmapv1
