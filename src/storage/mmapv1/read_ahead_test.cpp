// Walks through a collection or an index of a database whose files want it read ahead, and look-ups
// of one document do not.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "bson/builder.h"
#include "storage/mmapv1/space/read_ahead.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

constexpr int kDocuments = 4000;
constexpr size_t kPad = 1000;

class WalkersReadAhead : public DatabaseTest {
  protected:
    WalkersReadAhead() {
        views_.asked = [this](const std::string&, int64_t, int64_t bytes) {
            ++calls_;
            bytes_ += bytes;
        };
    }
    void SetUp() override {
        DatabaseTest::SetUp();
        collection_ = &create("test.c");
        for (int i = 0; i < kDocuments; ++i)
            ids_.push_back(collection_->records().insert(doc(i, kPad)));
        data_bytes_ = collection_->records().stats().data_bytes;
        forget();
    }
    void forget() { calls_ = bytes_ = 0; }
    // An index of all documents, in their order or in another one.
    storage::SortedIndex& make_index(const std::string& name, bool in_order) {
        const int slot = add_index(*collection_, name, bson::make(name, 1));
        storage::SortedIndex& index = *collection_->index(slot).index;
        for (int i = 0; i < kDocuments; ++i) {
            const int place = in_order ? i : static_cast<int>(int64_t{i} * 7919 % kDocuments);
            index.insert(bson::make("", i), ids_[static_cast<size_t>(place)], true);
        }
        forget();
        return index;
    }
    void expect_all_asked_for() const {
        EXPECT_GE(bytes_, data_bytes_ * 8 / 10);
        EXPECT_LE(bytes_, data_bytes_ * 15 / 10 + (2 << 20));
        EXPECT_LE(calls_, 80);
    }
    // What a walk through an index may ask for.
    static int64_t index_bytes_max(const storage::SortedIndex& index) {
        return 2 * index.storage_bytes() + 2 * ReadAhead::kPassedBytesMin;
    }
    int64_t walk(storage::SortedIndex& index, bool reads, int keys) {
        forget();
        const auto cursor = index.cursor(storage::Direction::forward);
        int seen = 0;
        for (cursor->seek_to_start(); seen < keys; cursor->next(), ++seen)
            if (reads) collection_->records().get(cursor->id());
        return bytes_;
    }

    MmapCollection* collection_ = nullptr;
    std::vector<storage::RecordId> ids_;
    int64_t data_bytes_ = 0;
    int64_t calls_ = 0;
    int64_t bytes_ = 0;
};

TEST_F(WalkersReadAhead, Scans) {
    EXPECT_EQ(ids(*collection_).size(), size_t{kDocuments});
    expect_all_asked_for();
    forget();
    EXPECT_EQ(ids(*collection_, storage::Direction::backward).size(), size_t{kDocuments});
    expect_all_asked_for();
}

TEST_F(WalkersReadAhead, NotWhoLooksAtSome) {
    for (int i = 0; i < kDocuments; ++i)
        collection_->records().get(ids_[static_cast<size_t>(int64_t{i} * 7919 % kDocuments)]);
    const auto cursor = collection_->records().cursor(storage::Direction::forward);
    for (int i = 0; i < 10; ++i)
        cursor->next();
    EXPECT_EQ(calls_, 0);
}

TEST_F(WalkersReadAhead, Validate) {
    for (const bool full : {false, true}) {
        forget();
        bson::Buffer buffer;
        bson::Builder out(buffer);
        storage::ValidateOptions options;
        options.full = full;
        collection_->validate(options, out);
        EXPECT_GE(bytes_, data_bytes_ * 8 / 10) << full;
    }
}

TEST_F(WalkersReadAhead, Touch) {
    collection_->records().touch();
    expect_all_asked_for();
    const storage::SortedIndex& index = make_index("a", false);
    index.touch();
    EXPECT_GE(bytes_, index.storage_bytes() * 8 / 10);
}

TEST_F(WalkersReadAhead, Compact) {
    bson::Buffer buffer;
    bson::Builder out(buffer);
    collection_->compact(bson::make("compact", "c"), {}, out);
    EXPECT_GE(bytes_, data_bytes_ * 16 / 10) << "it looks at all before it copies";
}

TEST_F(WalkersReadAhead, ARangeOfAnIndexWhereRecordsLieInOrder) {
    storage::SortedIndex& index = make_index("a", true);
    EXPECT_GE(walk(index, true, kDocuments), data_bytes_ * 8 / 10);
    EXPECT_LE(walk(index, false, kDocuments), index_bytes_max(index)) << "no records are read";
    EXPECT_EQ(walk(index, true, 10), 0);
}

TEST_F(WalkersReadAhead, NotARangeWhereTheyLieInNone) {
    storage::SortedIndex& index = make_index("a", false);
    EXPECT_LE(walk(index, true, kDocuments), index_bytes_max(index));
}

TEST_F(WalkersReadAhead, ALongDocumentIsReadAtOnce) {
    const storage::RecordId id = collection_->records().insert(doc(-1, 200'000));
    forget();
    EXPECT_EQ(collection_->records().get(id)["p"].as_string().size(), 200'000u);
    EXPECT_EQ(calls_, 1);
    EXPECT_GE(bytes_, 200'000);
}

}  // namespace
}  // namespace mmapv1
