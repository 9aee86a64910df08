// storage/contract/capped_store_contract.h - what the RecordStore of a capped collection promises.
#pragma once

#include <vector>

#include "storage/contract/record_store_contract.h"

namespace storage::contract {

// Capped stores: a ring in order of insertion.
class CappedStoreContract : public RecordStoreContract {};

TEST_P(CappedStoreContract, DropsTheOldestFirstAndTellsBefore) {
    RecordStore& records = create_capped("test.c", 64 * 1024).records();
    EXPECT_TRUE(records.capped());
    std::vector<int> dropped;
    records.set_before_capped_removal(
        [&](const Record& record) { dropped.push_back(record.doc["_id"].as_int32()); });
    for (int i = 0; i < 1000; ++i)
        records.insert(document(i, 400));
    records.set_before_capped_removal({});
    EXPECT_FALSE(dropped.empty());
    const int kept_from = static_cast<int>(dropped.size());
    EXPECT_EQ(dropped, range(0, kept_from));
    EXPECT_EQ(ids(records), range(kept_from, 1000));
    std::vector<int> backward = ids(records, Direction::backward);
    std::reverse(backward.begin(), backward.end());
    EXPECT_EQ(backward, range(kept_from, 1000));
    EXPECT_EQ(records.count(), 1000 - kept_from);
    EXPECT_GE(records.stats().capped_bytes, 16 * 1024);
    EXPECT_LE(records.stats().data_bytes, records.stats().capped_bytes);
}

TEST_P(CappedStoreContract, HoldsADocumentOfTheSizeThatItSays) {
    RecordStore& records = create_capped("test.c", 64 * 1024).records();
    const int64_t most = records.capped_document_max();
    ASSERT_GT(most, 32 * 1024);
    const int64_t around = document(1, 0).size();
    const auto pad = static_cast<size_t>(most - around);
    for (int i = 0; i < 3; ++i)
        records.insert(document(i, pad));
    EXPECT_EQ(records.count(), 1);
    EXPECT_NE(failure([&] { records.insert(document(9, pad + 64)); }), 0);
    EXPECT_EQ(ids(records), range(2, 3));
}

TEST_P(CappedStoreContract, KeepsNoMoreDocumentsThanAsked) {
    RecordStore& records = create_capped("test.c", 1 << 20, 10).records();
    for (int i = 0; i < 35; ++i)
        records.insert(document(i, 30));
    EXPECT_EQ(ids(records), range(25, 35));
    EXPECT_EQ(records.stats().capped_max_documents, 10);
}

TEST_P(CappedStoreContract, RefusesToGrowADocument) {
    RecordStore& records = create_capped("test.c", 64 * 1024).records();
    const RecordId id = records.insert(document(1, 10));
    const bson::Object grown = document(1, 5000);
    ASSERT_FALSE(records.fits(id, grown.size()));
    EXPECT_EQ(failure([&] { records.insert_moved(id, grown); }),
              base::kCannotGrowDocumentInCappedNamespace);
    EXPECT_EQ(bson::Object(records.get(id)).bytes(), document(1, 10).bytes());
    EXPECT_EQ(records.count(), 1);
}

TEST_P(CappedStoreContract, RefusesADocumentLargerThanItself) {
    constexpr int kTooLargeForCapped = 16328;
    RecordStore& records = create_capped("test.c", 16 * 1024).records();
    records.insert(document(1, 10));
    EXPECT_EQ(failure([&] { records.insert(document(2, 1 << 20)); }), kTooLargeForCapped);
    EXPECT_EQ(ids(records), range(1, 2));
}

TEST_P(CappedStoreContract, AnInsertIsUndoneByRemoving) {
    RecordStore& records = create_capped("test.c", 16 * 1024).records();
    int told = 0;
    for (int i = 0; i < 20; ++i) {
        records.set_before_capped_removal([&](const Record&) { ++told; });
        records.insert(document(i, 20));
        records.remove(records.insert(document(-1, 20)));
    }
    EXPECT_EQ(told, 0);
    EXPECT_EQ(ids(records), range(0, 20));
    records.set_before_capped_removal({});
}

TEST_P(CappedStoreContract, AForwardCursorAtTheEndSeesNewerRecords) {
    RecordStore& records = create_capped("test.c", 64 * 1024).records();
    records.insert(document(0));
    const auto cursor = records.cursor(Direction::forward);
    EXPECT_EQ(cursor->next()->doc["_id"].as_int32(), 0);
    EXPECT_FALSE(cursor->next().has_value());
    for (int i = 1; i < 20; ++i) {
        cursor->save();
        records.insert(document(i));
        ASSERT_TRUE(cursor->restore());
        const auto record = cursor->next();
        ASSERT_TRUE(record.has_value());
        EXPECT_EQ(record->doc["_id"].as_int32(), i);
        EXPECT_FALSE(cursor->next().has_value());
    }
}

TEST_P(CappedStoreContract, ACursorThatTheRingOvertookSaysSo) {
    RecordStore& records = create_capped("test.c", 16 * 1024).records();
    for (int i = 0; i < 500; ++i)
        records.insert(document(i, 200));
    const auto cursor = records.cursor(Direction::forward);
    ASSERT_TRUE(cursor->next().has_value());
    cursor->save();
    for (int i = 500; i < 1000; ++i)
        records.insert(document(i, 200));
    EXPECT_FALSE(cursor->restore());
}

TEST_P(CappedStoreContract, TruncatesTheNewest) {
    RecordStore& records = create_capped("test.c", 64 * 1024).records();
    std::vector<RecordId> all;
    for (int i = 0; i < 50; ++i)
        all.push_back(records.insert(document(i, 30)));
    std::vector<int> told;
    records.set_before_capped_removal(
        [&](const Record& record) { told.push_back(record.doc["_id"].as_int32()); });
    records.truncate_after(all[40], false);
    EXPECT_EQ(ids(records), range(0, 41));
    records.truncate_after(all[20], true);
    EXPECT_EQ(ids(records), range(0, 20));
    EXPECT_EQ(sorted(told), range(20, 50));
    records.set_before_capped_removal({});
    records.insert(document(20, 30));
    EXPECT_EQ(ids(records), range(0, 21));
    records.truncate();
    EXPECT_TRUE(ids(records).empty());
    for (int i = 0; i < 500; ++i)
        records.insert(document(i, 400));
    EXPECT_EQ(ids(records).back(), 499);
}

TEST_P(CappedStoreContract, TruncatingNeverEmpties) {
    constexpr int kTruncateEmpties = 13415;
    RecordStore& records = create_capped("test.c", 64 * 1024).records();
    const RecordId first = records.insert(document(0));
    records.insert(document(1));
    EXPECT_EQ(failure([&] { records.truncate_after(first, true); }), kTruncateEmpties);
    EXPECT_EQ(ids(records), range(0, 1));
}

TEST_P(CappedStoreContract, KeepsItsOrderAcrossReopening) {
    RecordStore& records = create_capped("test.c", 32 * 1024).records();
    for (int i = 0; i < 700; ++i)
        records.insert(document(i, static_cast<size_t>(i % 13) * 20));
    const std::vector<int> before = ids(records);
    reopen();
    EXPECT_EQ(ids(store()), before);
    store().insert(document(700, 10));
    const std::vector<int> after = ids(store());
    EXPECT_EQ(after, range(after.front(), 701));
    EXPECT_GE(after.front(), before.front());
}

}  // namespace storage::contract
