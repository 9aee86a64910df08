#include "storage/kv/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "sched/memory_metrics.h"
#include "sched/operation.h"
#include "storage/kv/bytes.h"
#include "storage/kv/testing/memory_map.h"

namespace kv {
namespace {

using storage::DatabaseLock;
using storage::GlobalLock;
using storage::GlobalMode;

class KvEngineTest : public testing::Test {
  protected:
    // Opens the engine; one that is open already ends as by a kill, without a shutdown.
    void open() {
        engine.reset();
        auto made = std::make_unique<MemoryMap>(rows);
        map = made.get();
        engine = std::make_unique<Engine>(
            std::move(made), EngineOptions{.name = "ordered", .stopped = [this] { ++stops; }});
    }
    storage::DatabaseStore& database() { return engine->create_database("test"); }
    storage::CollectionStore& collection(const std::string& ns = "test.c") {
        storage::CollectionStore* const found = database().collection(ns);
        return found != nullptr ? *found : database().create_collection(ns, {});
    }
    // A collection with an index on a.
    storage::SortedIndex& index(storage::CollectionStore& of) {
        if (of.index_count() == 0)
            of.finish_index(of.begin_index(
                bson::make("v", 1, "key", bson::make("a", 1), "name", "a_1", "ns", of.ns())));
        return *of.index(0).index;
    }
    storage::RecordId insert(int a) {
        const storage::RecordId id = collection().records().insert(bson::make("_id", a, "a", a));
        index(collection()).insert(bson::make("", a), id, true);
        return id;
    }
    // Returns the errors that a full validation finds.
    std::string faults() { return faults(collection()); }
    static std::string faults(storage::CollectionStore& of) {
        storage::ValidateOptions options;
        options.full = true;
        options.derive_keys = [](bson::Doc, bson::Doc doc, const auto& add) {
            bson::Builder key;
            key.append_as("", doc["a"]);
            add(key.doc());
        };
        bson::Builder out;
        std::string text;
        for (const std::string& error : of.validate(options, out).errors)
            text += error + "\n";
        return text;
    }
    static std::string failure_text(const std::function<void()>& call) {
        try {
            call();
        } catch (const base::Error& error) {
            return error.what();
        }
        return "";
    }
    // Returns a row of the table that holds the first record or the first entry.
    MemoryMap::Place first_row(size_t key_bytes) {
        for (const auto& [place, row] : rows->all)
            if (place.first >= Table{kFirstTable} && place.second.size() == key_bytes) return place;
        ADD_FAILURE() << "no such row";
        return {};
    }
    static constexpr size_t kRecordKey = 8, kEntryKey = 8 + 1 + 1 + 1;  // of a small number

    std::shared_ptr<MemoryMap::Rows> rows = std::make_shared<MemoryMap::Rows>();
    int stops = 0;
    Expected found = Expected::nothing;
    MemoryMap* map = nullptr;
    std::unique_ptr<Engine> engine;
};

TEST_F(KvEngineTest, AKillLeavesWhatWasCommitted) {
    open();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        for (int i = 0; i < 100; ++i)
            insert(i);
    }
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    for (int i = 100; i < 200; ++i)
        insert(i);
    EXPECT_EQ(collection().records().count(), 200);
    std::thread([this] {
        Engine after(std::make_unique<MemoryMap>(rows), {.name = "ordered"});
        storage::CollectionStore& kept = *after.database("test")->collection("test.c");
        EXPECT_EQ(kept.records().count(), 100);
        EXPECT_EQ(kept.records().stats().data_bytes, 100 * bson::make("_id", 1, "a", 1).size());
        EXPECT_EQ(kept.index(0).index->find_one(bson::make("", 150)), storage::RecordId{});
    }).join();
}

// A kill at any time, beside changes that are taken back, leaves counts that a full count gives.
TEST_F(KvEngineTest, CountsAfterAKillAreThoseOfAFullCount) {
    constexpr int kThreads = 4, kKills = 25;
    open();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        insert(0);
    }
    std::atomic<bool> is_over = false;
    std::vector<std::thread> threads;
    for (int number = 1; number <= kThreads; ++number)
        threads.emplace_back([this, number, &is_over] {
            std::vector<std::pair<int, storage::RecordId>> live;
            std::mt19937_64 random(static_cast<uint64_t>(number));
            for (int a = number; !is_over; a += kThreads) {
                const DatabaseLock lock(engine->locks(), "test", storage::Access::documents);
                const bool is_undone = random() % 3 == 0;
                if (is_undone) engine->durability().begin_undo();
                if (live.size() < 5 || random() % 2 == 0) {
                    const storage::RecordId id = insert(a);
                    if (!is_undone) live.emplace_back(a, id);
                } else {
                    const auto [value, id] = live.back();
                    ASSERT_TRUE(collection().records().lock_record(id));
                    index(collection()).remove(bson::make("", value), id);
                    collection().records().remove(id);
                    if (!is_undone) live.pop_back();
                }
                if (is_undone) engine->durability().undo();
            }
        });
    std::set<int64_t> counts;
    for (int kill = 0; kill < kKills; ++kill) {
        for (const int seen = map->commits; map->commits < seen + 20;)
            std::this_thread::yield();
        const auto left = std::make_shared<MemoryMap::Rows>();
        {
            const std::lock_guard guard(rows->mutex);
            left->all = rows->all;
            left->tables = rows->tables;
        }
        std::thread([&] {
            Engine after(std::make_unique<MemoryMap>(left), {.name = "ordered"});
            EXPECT_EQ(faults(*after.database("test")->collection("test.c")), "");
            counts.insert(after.database("test")->collection("test.c")->records().count());
        }).join();
    }
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_GT(counts.size(), 1U);
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    EXPECT_EQ(faults(), "");
}

// The rows of the counters, by table.
TEST_F(KvEngineTest, AnInsertLooksForNoEntryAndCountsItsRecordAlone) {
    open();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        insert(1);
    }
    const auto rows_by_table = [this] {
        std::map<Table, size_t> count;
        for (const auto& [place, row] : rows->all)
            ++count[place.first];
        return count;
    };
    const auto before = rows_by_table();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        const storage::RecordId id = collection().records().insert(bson::make("_id", 2, "a", 2));
        storage::SortedIndex& entries = index(collection());
        const int looks = map->looks;
        entries.insert(bson::make("", 2), id, true);
        EXPECT_EQ(map->looks, looks);
        entries.insert(bson::make("", 2), id, true);  // the same row
        EXPECT_EQ(entries.insert(bson::make("", 2), id, false), storage::InsertResult::duplicate);
        EXPECT_EQ(map->looks, looks + 1);
    }
    auto after = rows_by_table();
    EXPECT_EQ(after[kCounters], before.at(kCounters));
    EXPECT_EQ(after[kCounters], 1U);
    EXPECT_EQ(after[Table{kFirstTable}], 2U);
    EXPECT_EQ(after[Table{kFirstTable + 1}], 2U);
    EXPECT_EQ(faults(), "");
}

// A version before this one has counted the entries of indexes. Its counts of records go on, and
// those of an index go with it.
TEST_F(KvEngineTest, ADirectoryThatCountsEntriesIsRead) {
    const auto number = [](uint32_t table, uint32_t session) {
        return big_endian(uint64_t{table} << 32 | session);
    };
    open();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        for (int i = 0; i < 3; ++i)
            insert(i);
    }
    const auto add_counter = [this](Bytes key, const Counts& counts) {
        const auto* const bytes = reinterpret_cast<const uint8_t*>(&counts);
        rows->all[MemoryMap::Place{kCounters, {key.begin(), key.end()}}] = {bytes,
                                                                            bytes + sizeof counts};
    };
    add_counter(number(kFirstTable + 1, 0), {.rows = 2, .bytes = 24});
    add_counter(number(kFirstTable + 1, 1), {.rows = 1, .bytes = 12});
    add_counter(big_endian(kFirstTable + 1), {.rows = 0, .bytes = 0});
    open();
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    EXPECT_EQ(faults(), "");
    EXPECT_EQ(collection().records().count(), 3);
    insert(3);
    engine->durability().commit_now();
    EXPECT_EQ(faults(), "");
    EXPECT_EQ(collection().records().count(), 4);
    collection().drop_index(0);
    engine->durability().commit_now();
    for (const auto& [place, row] : rows->all)
        if (place.first == kCounters) {
            EXPECT_EQ(from_big_endian<uint32_t>(place.second), kFirstTable);
        }
}

TEST_F(KvEngineTest, MissingTablesAreNamed) {
    open();
    {
        const GlobalLock lock(engine->locks(), GlobalMode::W);
        insert(1);
    }
    const auto start = [this] {
        return failure_text([this] {
            Engine(std::make_unique<MemoryMap>(rows), {.name = "ordered", .found = found});
        });
    };
    engine.reset();
    found = Expected::everything;
    EXPECT_EQ(start(), "");
    const std::set<Table> all = rows->tables;
    for (const auto& [table, what] :
         std::map<uint32_t, std::string>{{0, "the catalogue of all collections"},
                                         {1, "the counts of documents"},
                                         {2, "the list of what is to be dropped"},
                                         {kFirstTable, "the documents of test.c"},
                                         {kFirstTable + 1, "index a_1 of test.c"}}) {
        rows->tables.erase(Table{table});
        for (int again = 0; again < 2; ++again)
            EXPECT_NE(start().find(what), std::string::npos) << start();
        found = Expected::parts;
        EXPECT_EQ(start().empty(), table != 0);
        found = Expected::everything;
        rows->tables = all;
    }
}

TEST_F(KvEngineTest, TablesThatTheCatalogueDoesNotNameGo) {
    open();
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    insert(1);
    engine->durability().commit_now();
    const std::set<Table> named = rows->tables;
    rows->tables.insert(Table{77});
    const auto start = [this](Expected with) {
        std::thread([this, with] {
            Engine(std::make_unique<MemoryMap>(rows), {.name = "ordered", .found = with});
        }).join();
    };
    // The catalogue may name fewer tables than the map has.
    start(Expected::nothing);
    start(Expected::parts);
    EXPECT_TRUE(rows->tables.contains(Table{77}));
    start(Expected::everything);
    EXPECT_EQ(rows->tables, named);
}

TEST_F(KvEngineTest, WhatIsDroppedLeavesNoRows) {
    open();
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    insert(1);
    collection().drop_index(0);
    insert(2);
    collection().records().truncate();
    insert(3);
    collection("test.other").records().insert(bson::make("_id", 1));
    database().rename_collection("test.other", "test.renamed", false);
    database().drop_collection("test.renamed");
    engine->durability().commit_now();
    EXPECT_FALSE(rows->all.empty());
    engine->drop_database("test");
    EXPECT_TRUE(rows->all.empty());
}

TEST_F(KvEngineTest, ATruncatedCollectionIsEmptyAfterAKillToo) {
    open();
    {
        const GlobalLock lock(engine->locks(), GlobalMode::W);
        insert(1);
        collection().records().truncate();
        collection().records().insert(bson::make("_id", 2));
    }
    open();
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    EXPECT_EQ(collection().records().count(), 1);
    const auto cursor = collection().records().cursor(storage::Direction::forward);
    EXPECT_EQ(cursor->next()->doc["_id"].as_int32(), 2);
}

TEST_F(KvEngineTest, ADamagedRowOfTheCatalogueIsNamed) {
    open();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        insert(1);
    }
    const auto row = rows->all.find(MemoryMap::Place{kCatalogue, {'t', 'e', 's', 't', '.', 'c'}});
    ASSERT_NE(row, rows->all.end());
    const MemoryMap::Row whole = row->second;
    const auto refusal = [&](const MemoryMap::Row& damaged) -> std::string {
        row->second = damaged;
        try {
            open();
        } catch (const base::Error& error) {
            return error.what();
        }
        return "";
    };
    for (size_t length = 0; length < whole.size(); ++length)
        EXPECT_NE(refusal({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)})
                      .find("test.c is damaged"),
                  std::string::npos)
            << length;
    const bson::Object other = bson::make("records", 1);
    EXPECT_NE(refusal({other.bytes().begin(), other.bytes().end()}).find("test.c"),
              std::string::npos);
    EXPECT_EQ(refusal(whole), "");
}

TEST_F(KvEngineTest, ValidateFindsWhatDoesNotAgree) {
    open();
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    for (int i = 0; i < 5; ++i)
        insert(i);
    engine->durability().commit_now();
    EXPECT_EQ(faults(), "");
    const auto undisturbed = rows->all;

    rows->all.erase(first_row(kEntryKey));
    EXPECT_NE(faults().find("1 of 5 entries are missing"), std::string::npos) << faults();
    rows->all = undisturbed;

    rows->all.erase(first_row(kRecordKey));
    EXPECT_NE(faults().find("4 records"), std::string::npos) << faults();
    EXPECT_NE(faults().find("index a_1 is not what the documents ask for"), std::string::npos);
    rows->all = undisturbed;

    rows->all[first_row(kRecordKey)].resize(7);
    EXPECT_NE(faults().find("record 1: "), std::string::npos) << faults();
    rows->all = undisturbed;

    rows->all[MemoryMap::Place{first_row(kEntryKey).first, {1, 2}}] = {};
    EXPECT_NE(faults().find("entry "), std::string::npos) << faults();
    rows->all = undisturbed;
    EXPECT_EQ(faults(), "");
}

TEST_F(KvEngineTest, AFullDiskRefusesInsertsAndTakesRemovals) {
    open();
    const GlobalLock lock(engine->locks(), GlobalMode::W);
    const storage::RecordId id = insert(1);
    collection("test.empty");
    engine->durability().commit_now();
    map->is_full = true;
    const auto code = [](const auto& action) {
        try {
            action();
        } catch (const base::Error& error) {
            return error.code();
        }
        return 0;
    };
    storage::RecordStore& records = collection().records();
    EXPECT_EQ(code([&] { records.insert(bson::make("_id", 2)); }), base::kOutOfDiskSpace);
    EXPECT_EQ(code([&] { records.fits(id, 100); }), base::kOutOfDiskSpace);
    EXPECT_EQ(code([&] { collection("test.new"); }), base::kOutOfDiskSpace);
    EXPECT_EQ(code([&] { index(collection("test.empty")); }), base::kOutOfDiskSpace);
    index(collection()).remove(bson::make("", 1), id);
    index(collection()).insert(bson::make("", 1), id, true);  // undone
    EXPECT_EQ(faults(), "");
    index(collection()).remove(bson::make("", 1), id);
    records.remove(id);
    EXPECT_EQ(records.count(), 0);
}

// The library's copies of rows would else be memory that no limit holds.
TEST_F(KvEngineTest, ALargeRowCountsTowardsItsReaderWhileItHasIt) {
    constexpr int64_t kRow = 2 << 20;
    open();
    const std::string text(kRow, 'x');
    storage::RecordId id;
    {
        const GlobalLock lock(engine->locks(), GlobalMode::W);
        id = collection().records().insert(bson::make("_id", 1, "text", text));
        collection().records().insert(bson::make("_id", 2));
    }
    sched::Operation operation;
    const sched::Operation::Scope scope(&operation);
    const int64_t before = sched::memory::held();
    const auto more = [before] { return sched::memory::held() - before; };
    {
        const DatabaseLock lock(engine->locks(), "test", false);
        storage::RecordStore& records = collection().records();
        const auto cursor = records.cursor(storage::Direction::forward);
        EXPECT_EQ(cursor->next()->doc.size(), kRow + 25);
        EXPECT_GE(more(), kRow);
        ASSERT_TRUE(cursor->next().has_value());
        EXPECT_LT(more(), kRow) << "a small row is what it has now";
        cursor->seek(id);
        cursor->next();
        EXPECT_GE(more(), kRow);
        cursor->save();
        EXPECT_LT(more(), kRow);
        records.get(id);
        EXPECT_GE(more(), kRow);
    }
    EXPECT_LT(more(), kRow) << "with the lock went what get() has returned";
}

TEST_F(KvEngineTest, AShutdownSyncsAndSaysSo) {
    open();
    {
        const DatabaseLock lock(engine->locks(), "test", true);
        insert(1);
    }
    engine->shutdown();
    EXPECT_EQ(stops, 1);
    EXPECT_GE(map->syncs, 1);
    EXPECT_GE(map->checkpoints, 1);
}

}  // namespace
}  // namespace kv
