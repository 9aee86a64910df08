// Trees that MongoDB 2.6 wrote, by insertion, bulk build and removal.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/compare.h"
#include "os/testing/directory.h"
#include "os/testing/fixture.h"
#include "storage/mmapv1/engine.h"

namespace mmapv1 {
namespace {

using storage::Direction;
using storage::InsertResult;
using storage::RecordId;
using storage::SortedIndex;

class BTreeFixture : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        os::unpack_fixture(GetParam(), home_.path());
        EngineOptions options;
        options.dbpath = home_.path();
        options.files.small_files = true;
        options.durable.no_prealloc_journal = true;
        engine_ = open_engine(options);
        lock_ = std::make_unique<storage::GlobalLock>(engine_->locks(), storage::GlobalMode::W);
    }
    // Runs also where SetUp() threw.
    void TearDown() override {
        lock_.reset();
        if (engine_ != nullptr) engine_->shutdown();
    }

    // Calls use(name, records, index) for every index that the engine maintains.
    template <typename Use>
    void for_each_index(Use use) {
        for (const std::string& db : engine_->database_names()) {
            storage::DatabaseStore& store = *engine_->database(db);
            for (const std::string& ns : store.collections()) {
                storage::CollectionStore& c = *store.collection(ns);
                for (int slot = 0; slot < c.index_count(); ++slot) {
                    const storage::IndexEntry entry = c.index(slot);
                    if (entry.index == nullptr) continue;
                    use(ns + ".$" + entry.name, c.records(), *entry.index);
                }
            }
        }
    }
    using Entry = std::pair<bson::Object, RecordId>;
    static std::vector<Entry> entries(const SortedIndex& index, Direction direction) {
        std::vector<Entry> found;
        auto cursor = index.cursor(direction);
        for (cursor->seek_to_start(); !cursor->at_end(); cursor->next())
            found.emplace_back(bson::Object(cursor->key()), cursor->id());
        return found;
    }
    static int64_t check(const SortedIndex& index, const std::string& name) {
        return index.validate(
            [&](const std::string& text) { ADD_FAILURE() << name << " " << text; });
    }

    os::TestDirectory home_;
    std::unique_ptr<storage::Engine> engine_;
    std::unique_ptr<storage::GlobalLock> lock_;
};

TEST_P(BTreeFixture, EveryTreeIsValidAndReadsTheSameBothWays) {
    int indexes = 0;
    size_t keys = 0;
    for_each_index([&](const std::string& name, storage::RecordStore&, const SortedIndex& index) {
        std::vector<Entry> forward = entries(index, Direction::forward);
        std::vector<Entry> backward = entries(index, Direction::backward);
        EXPECT_EQ(check(index, name), static_cast<int64_t>(forward.size())) << name;
        std::reverse(backward.begin(), backward.end());
        ASSERT_EQ(forward.size(), backward.size()) << name;
        for (size_t i = 0; i < forward.size(); ++i)
            ASSERT_EQ(forward[i].second, backward[i].second) << name;
        ++indexes;
        keys += forward.size();
    });
    EXPECT_GT(indexes, 10);
    EXPECT_GT(keys, 5000U);
}

TEST_P(BTreeFixture, AnIdIndexFindsEveryDocument) {
    for_each_index(
        [&](const std::string& name, storage::RecordStore& records, const SortedIndex& index) {
            if (!name.ends_with(".$_id_")) return;
            const auto cursor = records.cursor(Direction::forward);
            while (const auto record = cursor->next()) {
                bson::Builder key;
                key.append_as("", record->doc["_id"]);
                ASSERT_EQ(index.find_one(key.doc()), record->id) << name;
            }
            EXPECT_EQ(check(index, name), records.count()) << name;
        });
}

TEST_P(BTreeFixture, EveryTreeCanBeEmptiedAndFilledAgain) {
    std::mt19937 random(26);
    for_each_index([&](const std::string& name, storage::RecordStore&, SortedIndex& index) {
        std::vector<Entry> all = entries(index, Direction::forward);
        std::shuffle(all.begin(), all.end(), random);
        for (size_t i = 0; i < all.size(); ++i) {
            ASSERT_TRUE(index.remove(all[i].first, all[i].second)) << name;
            if (i % 500 == 0) {
                ASSERT_EQ(check(index, name), static_cast<int64_t>(all.size() - i - 1));
            }
        }
        ASSERT_EQ(check(index, name), 0);
        for (const auto& [key, id] : all)
            ASSERT_EQ(index.insert(key, id, true), InsertResult::inserted);
        ASSERT_EQ(check(index, name), static_cast<int64_t>(all.size()));
    });
}

INSTANTIATE_TEST_SUITE_P(Of26, BTreeFixture,
                         testing::Values("mmapv1-2.6-clean.tar.xz", "mmapv1-2.6-powercut.tar.xz"),
                         [](const auto& fixture) {
                             return std::string(fixture.index == 0 ? "clean" : "powercut");
                         });

}  // namespace
}  // namespace mmapv1
