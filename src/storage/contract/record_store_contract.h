// storage/contract/record_store_contract.h - what RecordStore and RecordCursor promise.
#pragma once

#include <algorithm>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "storage/contract/harness.h"

namespace storage::contract {

class RecordStoreContract : public DatabaseContract {
  protected:
    RecordStore& make_store() { return create("test.c").records(); }
    RecordStore& store() { return collection("test.c").records(); }

    static std::vector<int> ids(RecordStore& store, Direction direction = Direction::forward) {
        std::vector<int> found;
        const auto cursor = store.cursor(direction);
        while (const auto record = cursor->next())
            found.push_back(record->doc["_id"].as_int32());
        return found;
    }
    static std::vector<int> sorted(std::vector<int> list) {
        std::sort(list.begin(), list.end());
        return list;
    }
    static std::vector<int> range(int from, int to) {
        std::vector<int> list;
        for (int i = from; i < to; ++i)
            list.push_back(i);
        return list;
    }

    // Whether a row that a cursor has shown has ended.
    static bool has_ended(const uint8_t* row) {
#ifdef __SANITIZE_ADDRESS__
        return __asan_address_is_poisoned(row) != 0;
#else
        return std::ranges::all_of(std::span(row, 5), [](uint8_t byte) { return byte == 0xdb; });
#endif
    }

    // Scans while records vanish: `removed` per step, returned or not. Nothing that stays may be
    // missed or seen twice, nothing that went may be seen.
    void scan_while_removing(Direction direction) {
        RecordStore& records = make_store();
        std::map<int, RecordId> live;
        for (int i = 0; i < 300; ++i)
            live[i] = records.insert(document(i, static_cast<size_t>(i % 7) * 30));
        std::mt19937 random(17);
        std::set<int> seen;
        std::set<int> gone;
        const auto cursor = records.cursor(direction);
        while (const auto record = cursor->next()) {
            const int id = record->doc["_id"].as_int32();
            ASSERT_TRUE(seen.insert(id).second) << id << " was returned twice";
            ASSERT_FALSE(gone.contains(id)) << id << " was returned after its removal";
            cursor->save();
            for (int n = static_cast<int>(random() % 3); n > 0 && !live.empty(); --n) {
                const auto victim =
                    std::next(live.begin(), static_cast<int>(random() % live.size()));
                records.remove(victim->second);
                gone.insert(victim->first);
                live.erase(victim);
            }
            if (random() % 8 == 0 && live.contains(id)) {  // the cursor's own record
                records.remove(live[id]);
                gone.insert(id);
                live.erase(id);
            }
            ASSERT_TRUE(cursor->restore());
        }
        for (const auto& [id, record] : live)
            EXPECT_TRUE(seen.contains(id)) << id << " was missed";
        EXPECT_EQ(records.count(), static_cast<int64_t>(live.size()));
    }
};

TEST_P(RecordStoreContract, AnEmptyStoreHasNoRecords) {
    RecordStore& records = make_store();
    EXPECT_EQ(records.count(), 0);
    EXPECT_FALSE(records.capped());
    for (const Direction direction : {Direction::forward, Direction::backward})
        EXPECT_TRUE(ids(records, direction).empty());
}

TEST_P(RecordStoreContract, ReturnsWhatWasInserted) {
    RecordStore& records = make_store();
    std::map<RecordId, bson::Object> model;
    for (int i = 0; i < 500; ++i) {
        const bson::Object doc = document(i, static_cast<size_t>(i * 37 % 3000));
        const RecordId id = records.insert(doc);
        ASSERT_TRUE(id);
        ASSERT_TRUE(model.emplace(id, doc).second) << "an id was given twice";
    }
    EXPECT_EQ(records.count(), 500);
    EXPECT_EQ(records.stats().count, 500);
    for (const auto& [id, doc] : model)
        ASSERT_EQ(bson::Object(records.get(id)).bytes(), doc.bytes());
    EXPECT_EQ(sorted(ids(records)), range(0, 500));
}

// Builds with checks and sanitizers see to this much.
TEST_P(RecordStoreContract, ARowEndsWhenItsCursorMovesOrGoes) {
    if (!base::kDebugChecks) GTEST_SKIP() << "this build does not look for mistakes";
    RecordStore& records = make_store();
    const RecordId first = records.insert(document(1));
    records.insert(document(2));
    const std::function<void(HeldCursor&)> kWays[] = {
        [](HeldCursor& cursor) { cursor->next(); },
        [first](HeldCursor& cursor) { cursor->seek(first); },
        [](HeldCursor& cursor) { cursor->save(); },
        [](HeldCursor& cursor) { cursor.reset(); },
    };
    for (const auto& end : kWays) {
        HeldCursor cursor = records.cursor(Direction::forward);
        const auto record = cursor->next();
        ASSERT_TRUE(record);
        EXPECT_EQ(record->doc["_id"].as_int32(), 1);
        end(cursor);
        EXPECT_TRUE(has_ended(record->doc.data()));
    }
}

TEST_P(RecordStoreContract, BackwardIsTheReverseOfForward) {
    RecordStore& records = make_store();
    std::vector<RecordId> all;
    for (int i = 0; i < 400; ++i)
        all.push_back(records.insert(document(i, static_cast<size_t>(i * 53 % 900))));
    for (int i = 0; i < 400; i += 3)
        records.remove(all[static_cast<size_t>(i)]);
    for (int i = 400; i < 500; ++i)
        records.insert(document(i, 100));
    std::vector<int> forward = ids(records);
    std::vector<int> backward = ids(records, Direction::backward);
    std::reverse(backward.begin(), backward.end());
    EXPECT_EQ(forward, backward);
}

TEST_P(RecordStoreContract, KeepsTheLargestDocument) {
    RecordStore& records = make_store();
    const bson::Object large = document(1, 16 * 1024 * 1024 - 64);
    const RecordId id = records.insert(large);
    EXPECT_TRUE(bson::Object(records.get(id)).bytes() == large.bytes());
}

TEST_P(RecordStoreContract, ForgetsWhatWasRemoved) {
    RecordStore& records = make_store();
    std::vector<RecordId> all;
    for (int i = 0; i < 100; ++i)
        all.push_back(records.insert(document(i, 50)));
    for (size_t i = 0; i < 100; i += 2)
        records.remove(all[i]);
    EXPECT_EQ(records.count(), 50);
    for (const int id : ids(records))
        EXPECT_EQ(id % 2, 1);
    for (size_t i = 1; i < 100; i += 2)
        records.remove(all[i]);
    EXPECT_EQ(records.count(), 0);
    EXPECT_TRUE(ids(records).empty());
}

TEST_P(RecordStoreContract, OverwritesInPlace) {
    RecordStore& records = make_store();
    const RecordId id = records.insert(document(1, 100));
    const RecordId other = records.insert(document(2, 100));
    EXPECT_TRUE(records.fits(id, records.get(id).size()));
    records.overwrite(id, document(7, 40));
    EXPECT_EQ(bson::Object(records.get(id)).bytes(), document(7, 40).bytes());
    EXPECT_EQ(bson::Object(records.get(other)).bytes(), document(2, 100).bytes());
    EXPECT_EQ(records.count(), 2);
}

TEST_P(RecordStoreContract, OverwritesARangeInsideADocument) {
    RecordStore& records = make_store();
    const RecordId id = records.insert(bson::make("_id", 1, "n", 5));
    const bson::Doc before = records.get(id);
    const auto offset = static_cast<int32_t>(before["n"].value() - before.data());
    const int32_t nine = 9;
    records.overwrite_range(id, offset, {reinterpret_cast<const uint8_t*>(&nine), sizeof nine});
    EXPECT_EQ(bson::Object(records.get(id)).bytes(), bson::make("_id", 1, "n", 9).bytes());
}

TEST_P(RecordStoreContract, AGrownDocumentStaysOrMovesAndLeavesTheOldOneToTheCaller) {
    RecordStore& records = make_store();
    const RecordId old = records.insert(document(1, 10));
    const bson::Object grown = document(1, 100000);
    RecordId now = old;
    if (records.fits(old, grown.size())) {
        records.overwrite(old, grown);
    } else {
        now = records.insert_moved(old, grown);
        EXPECT_NE(old, now);
        EXPECT_EQ(bson::Object(records.get(old)).bytes(), document(1, 10).bytes());
        EXPECT_EQ(bson::Object(records.get(now)).bytes(), grown.bytes());
        records.remove(old);
    }
    EXPECT_EQ(records.count(), 1);
    EXPECT_EQ(bson::Object(records.get(now)).bytes(), grown.bytes());
    EXPECT_EQ(ids(records), range(1, 2));
}

TEST_P(RecordStoreContract, TruncateEmpties) {
    RecordStore& records = make_store();
    for (int i = 0; i < 1000; ++i)
        records.insert(document(i, 200));
    records.truncate();
    EXPECT_EQ(records.count(), 0);
    EXPECT_TRUE(ids(records).empty());
    records.insert(document(5));
    EXPECT_EQ(ids(records), range(5, 6));
}

TEST_P(RecordStoreContract, SeekPositionsBeforeARecord) {
    RecordStore& records = make_store();
    std::vector<RecordId> all;
    for (int i = 0; i < 50; ++i)
        all.push_back(records.insert(document(i, 20)));
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        const std::vector<int> order = ids(records, direction);
        const auto cursor = records.cursor(direction);
        cursor->seek(all[20]);
        auto expected = std::find(order.begin(), order.end(), 20);
        for (; expected != order.end(); ++expected) {
            const auto record = cursor->next();
            ASSERT_TRUE(record.has_value());
            EXPECT_EQ(record->doc["_id"].as_int32(), *expected);
        }
        EXPECT_FALSE(cursor->next().has_value());
    }
}

TEST_P(RecordStoreContract, SeekingAnIdThatIsGoneFindsNothing) {
    RecordStore& records = make_store();
    std::vector<RecordId> all;
    for (int i = 0; i < 10; ++i)
        all.push_back(records.insert(document(i, 20)));
    records.remove(all[5]);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        const auto cursor = records.cursor(direction);
        cursor->seek(all[5]);
        EXPECT_FALSE(cursor->next().has_value());
        cursor->seek(all[4]);
        EXPECT_EQ(cursor->next()->doc["_id"].as_int32(), 4);
    }
}

TEST_P(RecordStoreContract, SavedCursorsSurviveRemovalsForward) {
    scan_while_removing(Direction::forward);
}

TEST_P(RecordStoreContract, SavedCursorsSurviveRemovalsBackward) {
    scan_while_removing(Direction::backward);
}

// A thread that ends a cursor holds no lock, and nothing orders the two: this is for the thread
// sanitizer.
TEST_P(RecordStoreContract, CursorsMayEndWhileRecordsGo) {
    RecordStore& records = make_store();
    records.insert(document(1));
    for (int round = 0; round < 10; ++round) {
        std::vector<HeldCursor> cursors;
        for (int i = 0; i < 20; ++i) {
            cursors.push_back(records.cursor(Direction::forward));
            cursors.back()->next();
            cursors.back()->save();
        }
        std::atomic<bool> ended{false};
        std::thread ending([&] {
            cursors.clear();
            ended.store(true, std::memory_order_relaxed);
        });
        for (bool last = false; !last;) {
            last = ended.load(std::memory_order_relaxed);
            records.remove(records.insert(document(2)));
        }
        ending.join();
    }
    EXPECT_EQ(ids(records), std::vector<int>{1});
}

TEST_P(RecordStoreContract, KeepsRecordsAndTheirIdsAcrossReopening) {
    std::map<RecordId, bson::Object> model;
    RecordStore& records = make_store();
    for (int i = 0; i < 300; ++i) {
        const bson::Object doc = document(i, static_cast<size_t>(i * 11 % 500));
        model.emplace(records.insert(doc), doc);
    }
    for (int i = 0; i < 40; ++i) {
        records.remove(model.begin()->first);
        model.erase(model.begin());
    }
    reopen();
    EXPECT_EQ(store().count(), 260);
    for (const auto& [id, doc] : model)
        ASSERT_EQ(bson::Object(store().get(id)).bytes(), doc.bytes());
}

// Random inserts, removals, overwrites and moves against a map.
TEST_P(RecordStoreContract, AgreesWithAModel) {
    std::map<RecordId, bson::Object> model;
    make_store();
    std::mt19937 random(23);
    int next = 0;
    const auto any = [&] {
        return std::next(model.begin(), static_cast<int>(random() % model.size()));
    };
    for (int step = 0; step < 4000; ++step) {
        RecordStore& records = store();
        const uint32_t action = random() % 10;
        const size_t pad = random() % (random() % 20 == 0 ? 20000 : 400);
        if (action < 5 || model.empty()) {
            const bson::Object doc = document(next++, pad);
            ASSERT_TRUE(model.emplace(records.insert(doc), doc).second);
        } else if (action < 7) {
            const auto victim = any();
            records.remove(victim->first);
            model.erase(victim);
        } else {
            const auto at = any();
            const bson::Object doc = document(at->second["_id"].as_int32(), pad);
            if (records.fits(at->first, doc.size())) {
                records.overwrite(at->first, doc);
                at->second = doc;
            } else {
                const RecordId old = at->first;
                const RecordId moved = records.insert_moved(old, doc);
                records.remove(old);
                model.erase(old);
                ASSERT_TRUE(model.emplace(moved, doc).second);
            }
        }
        if (step % 1000 == 999) reopen();
    }
    EXPECT_EQ(store().count(), static_cast<int64_t>(model.size()));
    int64_t seen = 0;
    const auto cursor = store().cursor(Direction::forward);
    while (const auto record = cursor->next()) {
        ++seen;
        const auto found = model.find(record->id);
        ASSERT_NE(found, model.end());
        ASSERT_EQ(bson::Object(record->doc).bytes(), found->second.bytes());
    }
    EXPECT_EQ(seen, static_cast<int64_t>(model.size()));
}

}  // namespace storage::contract
