#include "storage/record_id_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/testing/effort.h"
#include "sched/memory.h"
#include "sched/operation.h"

namespace storage {
namespace {

std::vector<uint64_t> between(const RecordIdSet& set, uint64_t first, uint64_t end) {
    std::vector<uint64_t> found;
    set.each_between({first}, {end}, [&](RecordId id) { found.push_back(id.value); });
    return found;
}

TEST(RecordIdSet, HoldsWhatASetHolds) {
    std::mt19937_64 random(7);
    // Dense, so that windows become bitmaps, and scattered; also ids that are no multiples of 4.
    for (const uint64_t range : {uint64_t{300'000}, uint64_t{1} << 40, uint64_t{1} << 63})
        for (const uint64_t step : {uint64_t{4}, uint64_t{1}}) {
            RecordIdSet set;
            std::set<uint64_t> model;
            for (int i = 0; i < base::test_effort(60'000); ++i) {
                const uint64_t id = random() % range / step * step + 4;
                if (random() % 4 == 0) {
                    set.erase({id});
                    model.erase(id);
                } else {
                    ASSERT_EQ(set.insert({id}), model.insert(id).second) << id;
                }
                const uint64_t other = random() % range / step * step + 4;
                ASSERT_EQ(set.contains({other}), model.contains(other)) << other;
            }
            if (step != 4 || range > uint64_t{1} << 40) continue;
            for (int i = 0; i < 5; ++i) {
                const uint64_t first = random() % range / 4 * 4;
                const uint64_t end = first + random() % (uint64_t{1} << 22) / 4 * 4;
                EXPECT_EQ(between(set, first, end),
                          std::vector<uint64_t>(model.lower_bound(first), model.lower_bound(end)));
            }
            set.clear();
            EXPECT_FALSE(set.contains({*model.begin()}));
        }
}

TEST(RecordIdSet, TheEndsOfWindows) {
    RecordIdSet set;
    constexpr uint64_t kWindowBytes = 4 * 65536;
    for (const uint64_t id : {uint64_t{4}, kWindowBytes - 4, kWindowBytes, 3 * kWindowBytes - 4})
        EXPECT_TRUE(set.insert({id}));
    EXPECT_EQ(between(set, 4, 3 * kWindowBytes),
              (std::vector<uint64_t>{4, kWindowBytes - 4, kWindowBytes, 3 * kWindowBytes - 4}));
    EXPECT_EQ(between(set, 8, kWindowBytes), (std::vector<uint64_t>{kWindowBytes - 4}));
    EXPECT_EQ(between(set, kWindowBytes, kWindowBytes + 4), (std::vector<uint64_t>{kWindowBytes}));
    EXPECT_TRUE(between(set, 8, 8).empty());
    // Ends that are no places.
    EXPECT_EQ(between(set, 1, 5), (std::vector<uint64_t>{4}));
    EXPECT_TRUE(between(set, 5, kWindowBytes - 5).empty());
    EXPECT_TRUE(between(set, 1, 4).empty());
}

TEST(RecordIdSet, TakesFewBytesForARecord) {
    for (const uint64_t record_bytes : {24, 64, 200, 1000, 4096}) {
        sched::Operation operation;
        operation.start();
        {
            const sched::Operation::Scope scope(&operation);
            RecordIdSet set;
            constexpr uint64_t kRecords = 100'000;
            for (uint64_t i = 0; i < kRecords; ++i)
                set.insert({(uint64_t{3} << 32) + i * record_bytes});
            const int64_t held = sched::memory::enter(0, true);
            sched::memory::enter(held, true);
            EXPECT_LE(held, static_cast<int64_t>(kRecords) * 5) << record_bytes;
            EXPECT_GT(held, static_cast<int64_t>(kRecords) / 2) << record_bytes;
        }
    }
}

}  // namespace
}  // namespace storage
