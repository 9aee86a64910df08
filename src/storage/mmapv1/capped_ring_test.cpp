#include "storage/mmapv1/space/capped_ring.h"

#include <deque>
#include <random>

#include "base/error.h"
#include "base/testing/effort.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

class CappedTest : public DatabaseTest {
  protected:
    MmapCollection& ring(std::vector<int64_t> extents) {
        storage::CollectionOptions options;
        options.capped = true;
        options.extent_bytes = std::move(extents);
        return create("test.ring", options);
    }
    // Cuts off everything behind the record at that position.
    void cut(MmapRecordStore& records, size_t last_kept) {
        const auto cursor = records.cursor(storage::Direction::forward);
        for (; last_kept > 0; --last_kept)
            cursor->next();
        cutting_ = true;
        records.truncate_after(cursor->next()->id, false);
        cutting_ = false;
    }

    bool cutting_ = false;
};

TEST_F(CappedTest, NewRingsLookAsTheOldServerLeavesThem) {
    MmapCollection& c = create_capped("test.c", 50000);
    EXPECT_EQ(c.records().stats().storage_bytes, 53248);
    const NamespaceDetails& d = c.details();
    EXPECT_EQ(d.deleted_list[0].offset, d.first_extent.offset + kExtentHeaderBytes);
    EXPECT_EQ(d.deleted_list[1], DiskLoc::invalid());
    EXPECT_EQ(d.cap_first_new, DiskLoc::invalid());
    EXPECT_EQ(d.cap_extent, d.first_extent);
    expect_valid();
}

TEST_F(CappedTest, FirstPassFillsExtentAfterExtent) {
    MmapCollection& c = ring({8192, 8192, 8192});
    for (int i = 0; i < 40; i++)
        c.records().insert(doc(i, 202));  // records of 240 bytes
    const NamespaceDetails& d = c.details();
    EXPECT_EQ(d.cap_extent, db_->files().extent(d.first_extent).next);
    EXPECT_EQ(d.cap_first_new, DiskLoc::invalid());
    EXPECT_EQ(db_->files().deleted(d.deleted_list[1]).extent_offset, d.first_extent.offset);
    expect_valid();
}

// Whatever the sizes, what remains is the newest documents, in order, in both directions; also when
// the newest are cut off, the ring is emptied, or the files are opened again.
TEST_F(CappedTest, RandomRingsKeepTheNewest) {
    std::mt19937 random(7);
    std::vector<std::vector<int64_t>> shapes = {
        {4096}, {8192}, {4096, 4096}, {8192, 12288, 8192}, {4096, 16384, 4096, 4096}};
    for (int more = base::test_effort(10); more > 0; --more) {
        shapes.emplace_back();
        for (uint32_t extents = 1 + random() % 6; extents > 0; --extents)
            shapes.back().push_back(4096 * (1 + random() % 5));
    }
    for (size_t shape = 0; shape < shapes.size(); ++shape) {
        SCOPED_TRACE(fmt::format("shape {}", shape));
        ring(shapes[shape]);
        std::deque<int> model;
        const auto expect_model = [&] {
            MmapCollection& c = *db_->find("test.ring");
            expect_valid();
            ASSERT_EQ(ids(c), std::vector<int>(model.begin(), model.end()));
            ASSERT_EQ(ids(c, storage::Direction::backward),
                      std::vector<int>(model.rbegin(), model.rend()));
        };
        const auto watch = [&] {
            db_->find("test.ring")
                ->records()
                .set_before_capped_removal([&](const storage::Record& record) {
                    ASSERT_FALSE(model.empty());
                    const int id = record.doc["_id"].as_int32();
                    if (id == model.back() && cutting_) {
                        model.pop_back();
                        return;
                    }
                    ASSERT_EQ(id, model.front());
                    model.pop_front();
                });
        };
        watch();
        for (int i = 0; i < 1500; i++) {
            MmapRecordStore& records = db_->find("test.ring")->records();
            const bool large = random() % 20 == 0;
            records.insert(doc(i, large ? random() % 3500 : random() % 400));
            model.push_back(i);
            const uint32_t rare = random() % 300;
            if (rare == 0) cut(records, random() % model.size());
            if (rare == 1) {
                records.truncate();
                model.clear();
            }
            if (rare == 2) {
                reopen();
                watch();
            }
            if (rare <= 2 || i % 100 == 0) expect_model();
            if (HasFatalFailure()) return;
        }
        reopen();
        expect_model();
        if (HasFatalFailure()) return;
        db_->drop_collection("test.ring");
    }
}

TEST_F(CappedTest, TruncationKeepsTheOlderEnd) {
    std::mt19937 random(11);
    for (const int inserted : {10, 40, 90, 400}) {
        MmapCollection& c = ring({4096, 8192, 4096});
        for (int i = 0; i < inserted; i++)
            c.records().insert(doc(i, random() % 300));
        std::vector<int> before = ids(c);
        while (before.size() > 3) {
            const size_t keep = before.size() - 1 - random() % (before.size() / 2 + 1);
            std::vector<storage::RecordId> at;
            const auto cursor = c.records().cursor(storage::Direction::forward);
            while (const auto record = cursor->next())
                at.push_back(record->id);
            if (keep == 0) break;
            c.records().truncate_after(at[keep - 1], false);
            expect_valid();
            before.resize(keep);
            ASSERT_EQ(ids(c), before);
            if (random() % 2 == 0) continue;
            c.records().insert(doc(1000 + inserted, 10));
            before = ids(c);
            ASSERT_EQ(before.back(), 1000 + inserted);
            expect_valid();
        }
        db_->drop_collection("test.ring");
    }
}

TEST_F(CappedTest, TruncationNeverEmpties) {
    MmapCollection& c = ring({4096});
    const storage::RecordId first = c.records().insert(doc(0, 10));
    c.records().insert(doc(1, 10));
    EXPECT_THROW(c.records().truncate_after(first, true), base::Error);
    EXPECT_EQ(ids(c), std::vector<int>{0});
    expect_valid();
    c.records().truncate();
    EXPECT_EQ(c.records().count(), 0);
    EXPECT_EQ(c.details().deleted_list[1], DiskLoc::invalid());
    expect_valid();
    c.records().insert(doc(2, 10));
    expect_valid();
}

TEST_F(CappedTest, DocumentLimitCounts) {
    MmapCollection& c = create_capped("test.ring", 8192, 5);
    for (int i = 0; i < 12; i++)
        c.records().insert(doc(i, 10));
    EXPECT_EQ(ids(c), (std::vector<int>{7, 8, 9, 10, 11}));
    expect_valid();
}

TEST_F(CappedTest, TooLargeDocumentsChangeNothing) {
    MmapCollection& c = create_capped("test.ring", 4096);
    c.records().insert(doc(0, 100));
    for (const size_t pad : {3859u, 4058u, 9962u})
        EXPECT_THROW(c.records().insert(doc(1, pad)), base::Error);
    EXPECT_EQ(ids(c), std::vector<int>{0});
    expect_valid();
    c.records().insert(doc(1, 3858));
    EXPECT_EQ(ids(c), std::vector<int>{1});
    EXPECT_THROW(c.records().insert_moved(c.records().first_id(), doc(1, 3900)), base::Error);
}

TEST_F(CappedTest, UndoneInsertLeavesNoTrace) {
    MmapCollection& c = ring({4096, 4096});
    for (int i = 0; i < 120; i++) {
        c.records().remove(c.records().insert(doc(-1, 50)));
        c.records().insert(doc(i, 100));
    }
    const std::vector<int> found = ids(c);
    ASSERT_FALSE(found.empty());
    for (size_t i = 0; i < found.size(); i++)
        EXPECT_EQ(found[i], 120 - static_cast<int>(found.size() - i));
    expect_valid();
}

TEST_F(CappedTest, CursorsFollowTheTailAndNoticeBeingOvertaken) {
    MmapCollection& c = ring({4096});
    c.records().insert(doc(0, 100));
    const auto tail = c.records().cursor(storage::Direction::forward);
    EXPECT_EQ(tail->next()->doc["_id"].as_int32(), 0);
    EXPECT_FALSE(tail->next().has_value());
    tail->save();
    c.records().insert(doc(1, 100));
    ASSERT_TRUE(tail->restore());
    EXPECT_EQ(tail->next()->doc["_id"].as_int32(), 1);
    tail->save();
    for (int i = 2; i < 100; i++)
        c.records().insert(doc(i, 100));
    EXPECT_FALSE(tail->restore());
}

TEST_F(CappedTest, AncientRingsAreConverted) {
    MmapCollection& c = ring({8192});
    for (int i = 0; i < 10; i++)
        c.records().insert(doc(i, 100));
    NamespaceDetails& d = c.details();
    views_.declare(&d, sizeof d);
    // The free space as an ancient server listed it: by size.
    d.deleted_list[deleted_list_of(db_->files().deleted(d.deleted_list[0]).length)] =
        d.deleted_list[0];
    d.deleted_list[0] = DiskLoc::null();
    d.cap_extent = {0, 0};
    d.cap_first_new = {0, 0};
    reopen();
    expect_valid();
    MmapCollection& again = *db_->find("test.ring");
    for (int i = 10; i < 100; i++)
        again.records().insert(doc(i, 100));
    EXPECT_EQ(ids(again).back(), 99);
    expect_valid();
}

// Free regions between all its records: each record that goes would have all of them sorted.
TEST_F(CappedTest, ARingOfManyFreeRegions) {
    constexpr int32_t kBytes = 12 << 20;
    constexpr int32_t kEach = 24;
    create_capped("test.ring", kBytes).records().insert(bson::Object());
    NamespaceDetails& d = views_.writing(details("test.ring"));
    ExtentHeader& extent = views_.writing(db_->files().extent(d.first_extent));
    DiskLoc start;
    int32_t bytes = 0;
    ExtentManager::data_region(d.first_extent, extent.length, false, &start, &bytes);
    views_.declare(db_->files().at(start, static_cast<uint64_t>(bytes)),
                   static_cast<size_t>(bytes));
    const int32_t records = bytes / (2 * kEach);
    DiskLoc free = DiskLoc::null();
    for (int32_t i = 0; i < records; ++i) {
        const int32_t offset = start.offset + i * 2 * kEach;
        const bool last = i == records - 1;
        RecordHeader& record = db_->files().record({0, offset});
        record = {kEach, d.first_extent.offset, last ? -1 : offset + 2 * kEach,
                  i == 0 ? -1 : offset - 2 * kEach};
        std::memcpy(record.data(), bson::Object().doc().data(), 5);
        const int32_t rest = last ? start.offset + bytes - offset - kEach : kEach;
        db_->files().deleted({0, offset + kEach}) = {rest / 4 * 4, d.first_extent.offset, free,
                                                     kDeletedMarker};
        free = {0, offset + kEach};
    }
    extent.first_record = start;
    extent.last_record = {0, start.offset + (records - 1) * 2 * kEach};
    d.record_count = records;
    d.data_bytes = records * int64_t{kEach - kRecordHeaderBytes};
    d.deleted_list[0] = free;
    d.deleted_list[1] = d.cap_first_new = DiskLoc::null();
    reopen();
    EXPECT_THROW(db_->find("test.ring")->records().insert(doc(1, 1 << 20)), base::Error);
    EXPECT_GT(db_->find("test.ring")->records().count(), records - 1000);
}

}  // namespace
}  // namespace mmapv1
