// Numbers from 2^53 on, which are in exact order here: bson::compare_values rounds them, and a scan
// asks by that.
#include "storage/kv/sorted_index.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>

#include "bson/compare.h"
#include "storage/kv/testing/memory_map.h"

namespace kv {
namespace {

using storage::Direction;
using storage::InsertResult;
using storage::RecordId;

std::vector<bson::Object> large_numbers() {
    constexpr int64_t kTwo53 = int64_t{1} << 53;
    std::vector<bson::Object> keys;
    for (int64_t n = -3; n <= 5; ++n) {
        keys.push_back(bson::make("", kTwo53 + n));
        keys.push_back(bson::make("", static_cast<double>(kTwo53 + n)));
        keys.push_back(bson::make("", -kTwo53 + n));
        keys.push_back(bson::make("", static_cast<double>(-kTwo53 + n)));
        keys.push_back(bson::make("", 2 * kTwo53 + n));
    }
    for (const int64_t n :
         {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max() - 1,
          std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min() + 1}) {
        keys.push_back(bson::make("", n));
        keys.push_back(bson::make("", static_cast<double>(n)));
    }
    keys.push_back(bson::make("", 0));
    keys.push_back(bson::make("", "text"));
    return keys;
}

class LargeNumbersTest : public testing::Test {
  protected:
    storage::LockManager locks;
    Store store{std::make_unique<MemoryMap>(), locks};
};

// A seek has to stand before every entry that is equal to the key sought, and before every one
// beyond it.
TEST_F(LargeNumbersTest, ASeekStandsBeforeAllThatCount) {
    const std::vector<bson::Object> keys = large_numbers();
    for (const uint32_t descending : {0U, 1U}) {
        SortedIndex index(store, store.new_table(Kind::entries), descending);
        for (size_t i = 0; i < keys.size(); ++i)
            ASSERT_EQ(index.insert(keys[i], RecordId{i + 1}, true), InsertResult::inserted);
        for (const Direction direction : {Direction::forward, Direction::backward}) {
            const bool ascending = (direction == Direction::forward) == (descending == 0);
            for (const bson::Object& sought : keys) {
                for (const bool past : {false, true}) {
                    const auto cursor = index.cursor(direction);
                    cursor->seek(sought, past);
                    if (!cursor->at_end()) {
                        const int first = bson::compare_keys(cursor->key(), sought, 0);
                        EXPECT_TRUE(first == 0 ? !past : (first > 0) == ascending);
                    }
                    std::set<uint64_t> found;
                    for (; !cursor->at_end(); cursor->next())
                        found.insert(cursor->id().value);
                    for (size_t i = 0; i < keys.size(); ++i) {
                        const int order = bson::compare_keys(keys[i], sought, 0);
                        const bool counts = order == 0 ? !past : (order > 0) == ascending;
                        if (counts) {
                            EXPECT_TRUE(found.contains(i + 1)) << i;
                        }
                    }
                }
            }
        }
        EXPECT_EQ(index.validate([](const std::string& text) { ADD_FAILURE() << text; }),
                  static_cast<int64_t>(keys.size()));
        store.commit();  // before the index goes
    }
}

TEST_F(LargeNumbersTest, AUniqueIndexTakesWhatOnlyRoundingMakesEqual) {
    SortedIndex index(store, store.new_table(Kind::entries), 0);
    const bson::Object whole = bson::make("", std::numeric_limits<int64_t>::max());
    const bson::Object rounded = bson::make("", 9223372036854775808.0);
    ASSERT_EQ(bson::compare_keys(whole, rounded, 0), 0);
    EXPECT_EQ(index.insert(whole, RecordId{1}, false), InsertResult::inserted);
    EXPECT_EQ(index.insert(rounded, RecordId{2}, false), InsertResult::inserted);
    EXPECT_EQ(index.insert(rounded, RecordId{3}, false), InsertResult::duplicate);
    EXPECT_EQ(index.find_one(whole), RecordId{1});
    EXPECT_EQ(index.find_one(rounded), RecordId{2});
}

// A search does not see another thread's uncommitted key; a row lock does.
TEST(UniqueKeysTest, AKeyThatAnotherThreadHasNotCommittedIsAConflict) {
    storage::LockManager locks;
    locks.allow_concurrent_changes();
    Store store(std::make_unique<MemoryMap>(), locks);
    SortedIndex index(store, store.new_table(Kind::entries), 0);
    store.before_unlock();
    const bson::Object key = bson::make("", 1);
    const storage::DatabaseLock lock(locks, "test", storage::Access::documents);
    EXPECT_EQ(index.insert(key, RecordId{1}, false), InsertResult::inserted);
    std::thread([&] {
        const storage::DatabaseLock beside(locks, "test", storage::Access::documents);
        EXPECT_THROW(index.insert(key, RecordId{2}, false), storage::WriteConflict);
    }).join();
}

}  // namespace
}  // namespace kv
