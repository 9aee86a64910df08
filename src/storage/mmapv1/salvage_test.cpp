// Reads collections whose chains are broken.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

class SalvageTest : public DatabaseTest {
  protected:
    // Ids in the order in which they are handed out.
    std::vector<int> salvaged(MmapCollection& collection) {
        std::vector<int> found;
        skipped_.clear();
        collection.salvage([&](bson::Doc doc) { found.push_back(doc["_id"].as_int32()); },
                           [&](const std::string& what) { skipped_.push_back(what); });
        return found;
    }
    static std::vector<int> range(int first, int last) {
        std::vector<int> numbers(static_cast<size_t>(last - first));
        std::iota(numbers.begin(), numbers.end(), first);
        return numbers;
    }
    std::vector<DiskLoc> extents(MmapCollection& collection) {
        std::vector<DiskLoc> found;
        for (DiskLoc at = collection.details().first_extent; at.is_valid();
             at = db_->files().extent(at).next)
            found.push_back(at);
        return found;
    }
    std::vector<DiskLoc> records(MmapCollection& collection) {
        std::vector<DiskLoc> found;
        const auto cursor = collection.records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            found.push_back(DiskLoc::from(record->id));
        return found;
    }

    std::vector<std::string> skipped_;
};

TEST_F(SalvageTest, AValidCollectionIsReadWhole) {
    MmapCollection& c = create("test.c");
    for (int i = 0; i < 200; i++)
        c.records().insert(doc(i, 200));
    EXPECT_EQ(salvaged(c), range(0, 200));
    EXPECT_TRUE(salvaged(create("test.empty")).empty());
    EXPECT_TRUE(skipped_.empty());
}

TEST_F(SalvageTest, ARingIsReadInItsOrder) {
    MmapCollection& c = create_capped("test.c", 16384);
    for (int i = 0; i < 500; i++)
        c.records().insert(doc(i, static_cast<size_t>(i % 90)));
    EXPECT_EQ(salvaged(c), ids(c));
    EXPECT_TRUE(skipped_.empty());
}

TEST_F(SalvageTest, ABrokenChainIsFollowedFromBothEnds) {
    MmapCollection& c = create("test.c");
    for (int i = 0; i < 20; i++)
        c.records().insert(doc(i, 10));
    const std::vector<DiskLoc> at = records(c);
    db_->files().record(at[7]).next_offset = 0x7ffffff0;
    EXPECT_EQ(salvaged(c), range(0, 20));
    ASSERT_EQ(skipped_.size(), 1u);
    EXPECT_NE(skipped_[0].find("the chain of records"), std::string::npos) << skipped_[0];
    // A record without a valid header loses only itself.
    db_->files().record(at[8]).length = -1;
    std::vector<int> expected = range(0, 20);
    expected.erase(expected.begin() + 8);
    EXPECT_EQ(salvaged(c), expected);
    // A chain that bites its tail ends.
    db_->files().record(at[19]).next_offset = at[0].offset;
    EXPECT_EQ(salvaged(c), expected);
}

TEST_F(SalvageTest, LostExtentsTakeOnlyTheirRecords) {
    MmapCollection& c = create("test.c");
    int count = 0;
    while (extents(c).size() < 4)
        c.records().insert(doc(count++, 400));
    const std::vector<DiskLoc> all = extents(c);
    std::vector<int> expected;
    for (const DiskLoc at : records(c)) {
        if (db_->files().record(at).extent_offset != all[1].offset)
            expected.push_back(c.records().get(at.id())["_id"].as_int32());
    }
    db_->files().extent(all[1]).magic = 0;
    EXPECT_EQ(salvaged(c), expected);
    ASSERT_EQ(skipped_.size(), 1u);
    EXPECT_NE(skipped_[0].find("the chain of extents"), std::string::npos) << skipped_[0];
}

TEST_F(SalvageTest, ARingThatHasLostItsPlaceIsReadWhole) {
    MmapCollection& c = create_capped("test.c", 16384);
    for (int i = 0; i < 500; i++)
        c.records().insert(doc(i, 50));
    std::vector<int> expected = ids(c);
    c.details().cap_extent = extents(create("test.d"))[0];
    std::vector<int> found = salvaged(c);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
}

// Each of them is a document as long as all that is behind it.
TEST_F(SalvageTest, RecordsThatLieInEachOther) {
    MmapCollection& c = create("test.c");
    constexpr int32_t kStep = 1024;
    constexpr int kRecords = 64;
    const DiskLoc first =
        DiskLoc::from(c.records().insert(bson::make("_id", 0, "p", std::string(65536, '\0'))));
    const RecordHeader whole = db_->files().record(first);
    const int32_t end = first.offset + whole.length;
    for (int i = 0; i < kRecords; ++i) {
        const DiskLoc loc{first.file, first.offset + i * kStep};
        const bson::Object nested = bson::make(
            "_id", i, "p", std::string(static_cast<size_t>(end - loc.offset - 256), '\0'));
        RecordHeader& record = db_->files().record(loc);
        record.length = end - loc.offset;
        record.extent_offset = whole.extent_offset;
        record.prev_offset = i == 0 ? -1 : loc.offset - kStep;
        record.next_offset = i == kRecords - 1 ? -1 : loc.offset + kStep;
        std::memcpy(record.data(), nested.doc().data(), 32);
        db_->files().extent({loc.file, whole.extent_offset}).last_record = loc;
    }
    EXPECT_LT(salvaged(c).size(), kRecords / 2U);
    EXPECT_GE(salvaged(c).size(), 1U);
    ASSERT_EQ(skipped_.size(), 1U);
    EXPECT_NE(skipped_[0].find("lie in each other"), std::string::npos) << skipped_[0];
}

// A chain that cannot be walked is given up rather than spliced into the free list.
TEST_F(SalvageTest, ABrokenChainOfExtentsDoesNotSpoilTheFreeList) {
    MmapCollection& c = create("test.c");
    for (int i = 0; extents(c).size() < 3; i++)
        c.records().insert(doc(i, 400));
    int64_t bytes = 0;
    const int64_t free_before = db_->extents().free_count(&bytes);
    db_->files().extent(extents(c)[1]).next = {0, 0x2000};
    db_->drop_collection("test.c");
    EXPECT_EQ(db_->extents().free_count(&bytes), free_before);
    EXPECT_TRUE(db_->extents().free_list_is_valid());
}

TEST_F(SalvageTest, ABrokenFreeListIsGivenUp) {
    MmapCollection& c = create("test.c");
    for (int i = 0; extents(c).size() < 3; i++)
        c.records().insert(doc(i, 400));
    db_->drop_collection("test.c");
    db_->repair();
    int64_t bytes = 0;
    EXPECT_EQ(db_->extents().free_count(&bytes), 3);
    const DiskLoc head = db_->extents().free_list_head();
    db_->files().extent(head).next = head;
    EXPECT_THROW(db_->extents().free_count(&bytes), base::Error);
    db_->repair();
    EXPECT_TRUE(db_->extents().free_list_is_valid());
    EXPECT_EQ(db_->extents().free_count(&bytes), 1);  // what the catalogue has left
    create("test.e").records().insert(doc(1, 10));
}

}  // namespace
}  // namespace mmapv1
