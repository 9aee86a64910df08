// storage/contract/sorted_index_contract.h - what SortedIndex, its cursors and its bulk builder
// promise. Entries name records that do not exist, so the database is left without the index.
#pragma once

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "bson/compare.h"
#include "bson/testing/values.h"
#include "storage/contract/harness.h"

namespace storage::contract {

class SortedIndexContract : public DatabaseContract {
  protected:
    using Entry = std::pair<bson::Object, RecordId>;
    struct EntryLess {
        uint32_t descending;
        bool operator()(const Entry& a, const Entry& b) const {
            const int c = bson::compare_keys(a.first, b.first, descending);
            return c != 0 ? c < 0 : a.second < b.second;
        }
    };
    using Model = std::set<Entry, EntryLess>;
    // An engine may have one order of all numbers or bson::compare_keys', which differ from here
    // on.
    static constexpr int64_t kLargest = (int64_t{1} << 53) + 4;

    void TearDown() override {
        if (slot_ >= 0) collection("test.c").drop_index(slot_);
        DatabaseContract::TearDown();
    }
    SortedIndex& make_index(const bson::Object& pattern = bson::make("a", 1)) {
        CollectionStore& c = create("test.c");
        slot_ = c.finish_index(c.begin_index(index_spec(c, "i", pattern)));
        return index();
    }
    SortedIndex& index() { return *collection("test.c").index(slot_).index; }

    static RecordId record(uint64_t i) { return RecordId{0x10000 + i * 64}; }
    static bson::Object key(int v) { return bson::make("", v); }
    static bson::Object key(int a, int b) { return bson::make("", a, "", b); }

    static void expect_valid(const SortedIndex& index, size_t entries) {
        const int64_t found =
            index.validate([](const std::string& text) { ADD_FAILURE() << text; });
        EXPECT_EQ(found, static_cast<int64_t>(entries));
    }
    static void expect_at(IndexCursor& cursor, const Entry& entry) {
        ASSERT_FALSE(cursor.at_end());
        EXPECT_EQ(cursor.id(), entry.second);
        EXPECT_EQ(bson::compare_keys(cursor.key(), entry.first, 0), 0);
    }
    template <typename Range>
    static void expect_rest(IndexCursor& cursor, const Range& entries) {
        for (const Entry& entry : entries) {
            ASSERT_NO_FATAL_FAILURE(expect_at(cursor, entry));
            cursor.next();
        }
        EXPECT_TRUE(cursor.at_end());
    }
    static void expect_scans(const SortedIndex& index, const Model& model) {
        auto forward = index.cursor(Direction::forward);
        forward->seek_to_start();
        expect_rest(*forward, model);
        auto backward = index.cursor(Direction::backward);
        backward->seek_to_start();
        expect_rest(*backward, std::vector<Entry>(model.rbegin(), model.rend()));
    }

    // The first and second field of what the cursor returns after a seek, as text.
    static std::string sought(const SortedIndex& index, Direction direction, const bson::Object& to,
                              bool past) {
        auto cursor = index.cursor(direction);
        cursor->seek(to, past);
        if (cursor->at_end()) return "end";
        const bson::Object found(cursor->key());
        std::string text;
        for (const bson::Element& e : found)
            text += std::to_string(e.to_int32()) + " ";
        return text;
    }

    int slot_ = -1;
};

TEST_P(SortedIndexContract, AnEmptyIndexFindsNothing) {
    SortedIndex& i = make_index();
    EXPECT_TRUE(i.find_one(key(1)).is_null());
    EXPECT_FALSE(i.has_duplicate(key(1), record(1)));
    EXPECT_FALSE(i.remove(key(1), record(1)));
    expect_scans(i, Model(EntryLess{0}));
    expect_valid(i, 0);
}

TEST_P(SortedIndexContract, FindsWhatWasInsertedUntilItIsRemoved) {
    SortedIndex& i = make_index();
    for (int v = 0; v < 2000; ++v)
        ASSERT_EQ(i.insert(key(v * 7 % 2000), record(v * 7 % 2000), false), InsertResult::inserted);
    expect_valid(i, 2000);
    for (int v = 0; v < 2000; ++v)
        ASSERT_EQ(i.find_one(key(v)), record(v));
    for (int v = 0; v < 2000; v += 2)
        ASSERT_TRUE(i.remove(key(v), record(v)));
    EXPECT_FALSE(i.remove(key(0), record(0)));
    EXPECT_FALSE(i.remove(key(1), record(0)));
    for (int v = 0; v < 2000; ++v)
        ASSERT_EQ(i.find_one(key(v)), v % 2 == 0 ? RecordId{} : record(v));
    expect_valid(i, 1000);
}

TEST_P(SortedIndexContract, RefusesDuplicatesOnlyWhenAsked) {
    SortedIndex& i = make_index();
    EXPECT_EQ(i.insert(key(1), record(5), false), InsertResult::inserted);
    EXPECT_EQ(i.insert(key(1), record(6), false), InsertResult::duplicate);
    EXPECT_EQ(i.insert(bson::make("", 1.0), record(4), false), InsertResult::duplicate);
    expect_valid(i, 1);
    EXPECT_FALSE(i.has_duplicate(key(1), record(5)));
    EXPECT_TRUE(i.has_duplicate(key(1), record(6)));
    EXPECT_EQ(i.insert(key(1), record(6), true), InsertResult::inserted);
    EXPECT_TRUE(i.has_duplicate(key(1), record(5)));
    EXPECT_EQ(i.find_one(key(1)), record(5));
    EXPECT_TRUE(i.remove(key(1), record(5)));
    EXPECT_EQ(i.find_one(key(1)), record(6));
    expect_valid(i, 1);
}

TEST_P(SortedIndexContract, AKeyThatIsTooLongChangesNothing) {
    SortedIndex& i = make_index();
    const bson::Object longest = bson::make("", std::string(1000, 'x'));
    EXPECT_EQ(i.insert(longest, record(1), false), InsertResult::inserted);
    const bson::Object longer = bson::make("", std::string(20 * 1024 * 1024, 'x'));
    if (i.too_long(longer)) {
        EXPECT_EQ(i.insert(longer, record(2), false), InsertResult::too_long);
        EXPECT_FALSE(i.remove(longer, record(2)));
        expect_valid(i, 1);
    }
    auto cursor = i.cursor(Direction::forward);
    cursor->seek(longer, false);
    EXPECT_TRUE(cursor->at_end());
    EXPECT_EQ(i.find_one(longest), record(1));
}

TEST_P(SortedIndexContract, ValuesAreReturnedWithTheirTypes) {
    SortedIndex& i = make_index();
    bson::TestValues values(9, kLargest);
    std::vector<bson::Object> kept;
    for (uint64_t n = 0; n < 500; ++n) {
        bson::Builder b;
        values.append(b, "");
        const bson::Object k = b.object();
        if (i.too_long(k)) continue;
        if (i.insert(k, record(n), false) == InsertResult::inserted) kept.push_back(k);
    }
    std::stable_sort(kept.begin(), kept.end(), [](const bson::Object& a, const bson::Object& b) {
        return bson::compare_keys(a, b, 0) < 0;
    });
    auto cursor = i.cursor(Direction::forward);
    cursor->seek_to_start();
    for (const bson::Object& k : kept) {
        ASSERT_FALSE(cursor->at_end());
        ASSERT_EQ(bson::Object(cursor->key()).bytes(), k.bytes());
        cursor->next();
    }
    EXPECT_TRUE(cursor->at_end());
}

TEST_P(SortedIndexContract, SeeksBetweenEntries) {
    SortedIndex& i = make_index();
    for (int v = 0; v < 1000; v += 10)
        i.insert(key(v), record(v), true);
    for (int v = 0; v < 1000; v += 10) {
        const auto text = [](int n) { return n < 0 || n > 990 ? "end" : std::to_string(n) + " "; };
        ASSERT_EQ(sought(i, Direction::forward, key(v), false), text(v));
        ASSERT_EQ(sought(i, Direction::forward, key(v), true), text(v + 10));
        ASSERT_EQ(sought(i, Direction::forward, key(v + 5), false), text(v + 10));
        ASSERT_EQ(sought(i, Direction::forward, key(v + 5), true), text(v + 10));
        ASSERT_EQ(sought(i, Direction::backward, key(v), false), text(v));
        ASSERT_EQ(sought(i, Direction::backward, key(v), true), text(v - 10));
        ASSERT_EQ(sought(i, Direction::backward, key(v - 5), false), text(v - 10));
        ASSERT_EQ(sought(i, Direction::backward, key(v - 5), true), text(v - 10));
    }
}

TEST_P(SortedIndexContract, SeeksByTheFirstFields) {
    SortedIndex& i = make_index(bson::make("a", 1, "b", -1));
    for (int a = 0; a < 30; a += 10)
        for (int b = 0; b < 3; ++b)
            i.insert(key(a, b), record(a + b), true);
    EXPECT_EQ(sought(i, Direction::forward, key(10), false), "10 2 ");
    EXPECT_EQ(sought(i, Direction::forward, key(10), true), "20 2 ");
    EXPECT_EQ(sought(i, Direction::backward, key(10), false), "10 0 ");
    EXPECT_EQ(sought(i, Direction::backward, key(10), true), "0 0 ");
    EXPECT_EQ(sought(i, Direction::forward, key(10, 1), false), "10 1 ");
    EXPECT_EQ(sought(i, Direction::forward, key(10, 1), true), "10 0 ");
    EXPECT_EQ(sought(i, Direction::backward, key(10, 1), true), "10 2 ");
    EXPECT_EQ(sought(i, Direction::forward, bson::Object(), false), "0 2 ");
    EXPECT_EQ(sought(i, Direction::forward, bson::Object(), true), "end");
    EXPECT_EQ(sought(i, Direction::backward, bson::Object(), false), "20 0 ");
    EXPECT_EQ(sought(i, Direction::forward, key(25), false), "end");
    EXPECT_EQ(sought(i, Direction::backward, key(-5), false), "end");
}

TEST_P(SortedIndexContract, DescendingFieldsReverseTheOrder) {
    SortedIndex& i = make_index(bson::make("a", -1));
    for (int v = 0; v < 100; ++v)
        i.insert(key(v), record(v), true);
    EXPECT_EQ(sought(i, Direction::forward, key(50), true), "49 ");
    EXPECT_EQ(sought(i, Direction::backward, key(50), true), "51 ");
    auto cursor = i.cursor(Direction::forward);
    cursor->seek_to_start();
    EXPECT_EQ(cursor->key().first().as_int32(), 99);
}

TEST_P(SortedIndexContract, EqualKeysStandInOrderOfTheirRecords) {
    SortedIndex& i = make_index(bson::make("a", -1));
    Model model(EntryLess{1});
    for (uint64_t n = 0; n < 3000; ++n) {
        const Entry entry{key(static_cast<int>(n % 3)), record(n * 7919 % 3001)};
        i.insert(entry.first, entry.second, true);
        model.insert(entry);
    }
    expect_scans(i, model);
}

TEST_P(SortedIndexContract, BulkBuiltIndexesAreLikeOthers) {
    SortedIndex& i = make_index();
    Model model(EntryLess{0});
    auto builder = i.bulk_builder(true);
    for (int v = 0; v < 5000; ++v) {
        const Entry entry{key(v / 2), record(v)};
        ASSERT_EQ(builder->add(entry.first, entry.second), InsertResult::inserted);
        model.insert(entry);
    }
    builder->finish();
    builder.reset();
    expect_scans(i, model);
    expect_valid(i, model.size());
    std::mt19937 random(3);
    for (int n = 0; n < 4000; ++n) {
        const Entry entry{key(static_cast<int>(random() % 2500)), record(random() % 5000)};
        if (random() % 2 == 0) {
            ASSERT_EQ(i.insert(entry.first, entry.second, true), InsertResult::inserted);
            model.insert(entry);
        } else {
            ASSERT_EQ(i.remove(entry.first, entry.second), model.erase(entry) != 0);
        }
    }
    expect_scans(i, model);
    expect_valid(i, model.size());
}

TEST_P(SortedIndexContract, BulkBuildReportsDuplicates) {
    SortedIndex& i = make_index();
    auto builder = i.bulk_builder(false);
    EXPECT_EQ(builder->add(key(1), record(1)), InsertResult::inserted);
    EXPECT_EQ(builder->add(key(1), record(2)), InsertResult::duplicate);
    EXPECT_EQ(builder->add(key(2), record(3)), InsertResult::inserted);
    builder->finish();
    expect_valid(i, 2);
}

TEST_P(SortedIndexContract, SavedCursorsFindTheirPlaceAgain) {
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        SortedIndex& i = slot_ < 0 ? make_index() : index();
        Model model(EntryLess{0});
        const auto insert = [&](int v) {
            i.insert(key(v), record(static_cast<uint64_t>(v)), true);
            model.emplace(key(v), record(static_cast<uint64_t>(v)));
        };
        const auto remove = [&](int v) {
            i.remove(key(v), record(static_cast<uint64_t>(v)));
            model.erase({key(v), record(static_cast<uint64_t>(v))});
        };
        for (int v = 0; v < 3000; ++v)
            insert(v);
        std::mt19937 random(29);
        auto cursor = i.cursor(direction);
        cursor->seek_to_start();
        while (!cursor->at_end()) {
            const Entry here{bson::Object(cursor->key()), cursor->id()};
            cursor->save();
            const int v = here.first.doc().first().as_int32();
            for (int n = 0; n < 5; ++n) {
                remove(v - 3 + static_cast<int>(random() % 7));
                insert(static_cast<int>(random() % 3000));
            }
            const bool there = model.contains(here);
            ASSERT_EQ(cursor->restore(), there);
            if (direction == Direction::forward) {
                const auto next = model.lower_bound(here);
                ASSERT_EQ(cursor->at_end(), next == model.end());
                if (next != model.end()) expect_at(*cursor, *next);
            } else {
                const auto next = model.upper_bound(here);
                ASSERT_EQ(cursor->at_end(), next == model.begin());
                if (next != model.begin()) expect_at(*cursor, *std::prev(next));
            }
            for (int n = 0; n < 10 && !cursor->at_end(); ++n)
                cursor->next();
        }
    }
}

TEST_P(SortedIndexContract, ACursorSavedAtTheEndStaysThere) {
    SortedIndex& i = make_index();
    i.insert(key(1), record(1), true);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
        const auto cursor = i.cursor(direction);
        cursor->seek_to_start();
        while (!cursor->at_end())
            cursor->next();
        cursor->save();
        i.insert(key(direction == Direction::forward ? 2 : 0), record(2), true);
        EXPECT_TRUE(cursor->restore());
        EXPECT_TRUE(cursor->at_end());
    }
}

TEST_P(SortedIndexContract, TheSamePairIsKeptOnce) {
    SortedIndex& i = make_index();
    i.insert(key(1), record(1), false);
    EXPECT_EQ(i.insert(key(1), record(1), true), InsertResult::inserted);
    expect_valid(i, 1);
    EXPECT_TRUE(i.remove(key(1), record(1)));
    EXPECT_TRUE(i.find_one(key(1)).is_null());
}

TEST_P(SortedIndexContract, AnAbandonedBulkBuildCanBeDropped) {
    SortedIndex& i = make_index();
    {
        const auto builder = i.bulk_builder(true);
        for (int v = 0; v < 2000; ++v)
            builder->add(key(v), record(static_cast<uint64_t>(v)));
    }
    collection("test.c").drop_index(slot_);
    slot_ = -1;
    EXPECT_EQ(collection("test.c").index_count(), 0);
}

TEST_P(SortedIndexContract, KeepsEntriesAcrossReopening) {
    SortedIndex& before = make_index(bson::make("a", 1, "b", -1));
    Model model(EntryLess{2});
    for (int v = 0; v < 3000; ++v) {
        const Entry entry{key(v * 31 % 100, v), record(v)};
        before.insert(entry.first, entry.second, true);
        model.insert(entry);
    }
    EXPECT_GT(before.storage_bytes(), 0);
    reopen();
    expect_scans(index(), model);
    expect_valid(index(), model.size());
}

// Random keys of every type against an ordered set.
TEST_P(SortedIndexContract, AgreesWithAModel) {
    SortedIndex& i = make_index(bson::make("a", 1, "b", -1));
    Model model(EntryLess{2});
    std::vector<Entry> entries;
    bson::TestValues values(31, kLargest);
    for (int step = 0; step < 8000; ++step) {
        if (entries.empty() || values.below(10) < (step < 5000 ? 7U : 3U)) {
            bson::Builder b;
            values.append(b, "");
            values.append(b, "");
            const Entry entry{b.object(), record(values.below(100000))};
            if (i.too_long(entry.first)) continue;
            ASSERT_EQ(i.insert(entry.first, entry.second, true), InsertResult::inserted);
            if (model.insert(entry).second) entries.push_back(entry);
        } else {
            std::swap(entries[values.below(entries.size())], entries.back());
            ASSERT_TRUE(i.remove(entries.back().first, entries.back().second));
            model.erase(entries.back());
            entries.pop_back();
        }
    }
    expect_scans(i, model);
    expect_valid(i, model.size());
}

}  // namespace storage::contract
