// Reads and changes a database with damaged bytes: expects an error that names the place, and no
// crash.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "storage/mmapv1/btree/index_store.h"
#include "storage/mmapv1/btree/layout.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

class DamagedReads : public DatabaseTest {
  protected:
    // 200 documents with an index on _id whose tree has several buckets.
    MmapCollection& filled() {
        MmapCollection& c = create("test.c");
        const int slot = add_index(c, "name", bson::make("p", 1));
        for (int i = 0; i < 200; i++) {
            const bson::Object document = bson::make("_id", i, "p", name(i));
            const storage::RecordId id = c.records().insert(document);
            c.index(slot).index->insert(bson::make("", name(i)), id, true);
        }
        expect_valid();
        return c;
    }
    static std::string name(int i) { return std::string(150, 'n') + std::to_string(1000 + i); }
    storage::SortedIndex& tree(MmapCollection& c) { return *c.index(0).index; }

    // Overwrites bytes behind the engine's back.
    template <typename T>
    void poke(DiskLoc loc, int32_t offset, T value) {
        uint8_t* to = db_->files().at(loc, 1) + offset;
        views_.declare(to, sizeof value);
        std::memcpy(to, &value, sizeof value);
    }
    // A record's data begins behind its header.
    static constexpr int32_t kData = sizeof(RecordHeader);

    template <typename F>
    static std::string error_of(F call, int code = base::kInternalError) {
        try {
            call();
        } catch (const base::Error& error) {
            EXPECT_EQ(error.code(), code) << error.what();
            return error.what();
        }
        return "no error";
    }

    static void expect_words(const std::string& text, const std::string& words) {
        EXPECT_NE(text.find(words), std::string::npos) << text;
    }
    MmapCollection& reopened() {
        reopen();
        return static_cast<MmapCollection&>(*db_->collection("test.c"));
    }

    static DiskLoc last_record(MmapCollection& c) {
        return DiskLoc::from(c.records().first_id(storage::Direction::backward));
    }
    // Reads the whole index; returns how many entries it has.
    static int walk(storage::SortedIndex& index) {
        int entries = 0;
        const auto cursor = index.cursor(storage::Direction::forward);
        for (cursor->seek_to_start(); !cursor->at_end(); cursor->next()) {
            EXPECT_GT(cursor->key().size(), 5);
            ++entries;
        }
        return entries;
    }
};

// It is noticed long before there have been as many as there is room for.
TEST_F(DamagedReads, LargeDocumentsInACircle) {
    constexpr size_t kBytes = 1 << 20;
    MmapCollection& c = create("test.c");
    const DiskLoc loc = DiskLoc::from(c.records().insert(doc(1, kBytes)));
    poke(loc, offsetof(RecordHeader, next_offset), loc.offset);
    const auto cursor = c.records().cursor(storage::Direction::forward);
    int64_t steps = 0;
    expect_words(error_of([&] {
                     while (cursor->next())
                         ++steps;
                 }),
                 "in a circle");
    EXPECT_LT(steps, 20 * db_->files().total_bytes() / static_cast<int64_t>(kBytes));
}

TEST_F(DamagedReads, ADocumentsStringThatIsTooLong) {
    MmapCollection& c = filled();
    const DiskLoc loc = last_record(c);
    constexpr int32_t kLengthOfP = 4 + 9 + 3;  // size, {_id: int32}, type and name
    for (const int32_t length : {0x7fffffff, -1, 0, 100000}) {
        poke(loc, kData + kLengthOfP, length);
        expect_words(error_of([&] { ids(c); }, 10334), to_string(loc));
        expect_words(error_of([&] { c.records().get(loc.id()); }, 10334), "damaged");
    }
}

TEST_F(DamagedReads, ADocumentLargerThanItsRecordOrItsFile) {
    MmapCollection& c = filled();
    const DiskLoc loc = last_record(c);
    for (const int32_t size : {4000, 0x7fffffff, -5, 0, 4}) {
        poke(loc, kData, size);
        expect_words(error_of([&] { ids(c); }, 10334), to_string(loc));
    }
    // The record claims as much.
    poke(loc, 0, int32_t{0x7ffffff0});
    poke(loc, kData, int32_t{0x7fffff00});
    expect_words(error_of([&] { ids(c); }, 10334), to_string(loc));
}

TEST_F(DamagedReads, BooleansOfTheOldServerAreRead) {
    MmapCollection& c = create("test.c");
    const storage::RecordId id = c.records().insert(bson::make("b", true));
    poke(DiskLoc::from(id), kData + 4 + 3, uint8_t{0x17});
    EXPECT_TRUE(c.records().get(id)["b"].as_bool());
    expect_valid();
}

TEST_F(DamagedReads, CompactStopsBeforeItChangesAnything) {
    MmapCollection& c = filled();
    const DiskLoc loc = last_record(c);
    const DiskLoc first = details("test.c").first_extent;
    const auto size = bson::load<int32_t>(at(loc.offset) + kData);
    poke(loc, kData, int32_t{3});
    storage::CompactHooks hooks;
    hooks.before_copy = [] { FAIL() << "it went on"; };
    bson::Builder out;
    error_of([&] { c.compact(bson::Object(), hooks, out); }, 10334);
    EXPECT_EQ(details("test.c").first_extent, first);
    poke(loc, kData, size);
    expect_valid();
}

TEST_F(DamagedReads, AnIndexDefinitionThatIsNoDocument) {
    MmapCollection& c = filled();
    poke(c.slot_details(0)->info, kData, int32_t{0x70000000});
    expect_words(error_of([&] { reopen(); }, 10334), "damaged");
}

TEST_F(DamagedReads, CountsOfIndexesThatCannotBe) {
    filled();
    NamespaceDetails& d = details("test.c");
    for (const auto& [completed, builds] : {std::pair{-1, 2}, {255, -254}, {65, 0}, {1, 64}}) {
        views_.declare(&d, sizeof d);
        d.index_count = completed;
        d.index_builds = builds;
        expect_words(error_of([&] { reopen(); }), "test.c is damaged");
    }
}

TEST_F(DamagedReads, BucketsOfAnIndex) {
    filled();
    MmapCollection& c = reopened();  // forgets which buckets have been examined
    const DiskLoc root = c.slot_details(0)->head;
    BucketHeader header = bson::load<BucketHeader>(at(root.offset) + kData);
    for (const uint16_t n : {uint16_t{0xffff}, uint16_t{500}, uint16_t{0x8000}}) {
        BucketHeader bad = header;
        bad.n = n;
        poke(root, kData, bad);
        expect_words(error_of([&] { walk(tree(c)); }), to_string(root));
        expect_words(error_of([&] { tree(c).find_one(bson::make("", name(3))); }),
                     "test.c.$name is damaged");
        const storage::RecordId id = c.records().first_id();
        error_of([&] { tree(c).insert(bson::make("", name(3)), id, true); });
        error_of([&] { tree(c).remove(bson::make("", name(3)), id); });
    }
    poke(root, kData, header);
    EXPECT_EQ(walk(tree(c)), 200);
    expect_valid();
}

TEST_F(DamagedReads, LinksBetweenBucketsThatGoRound) {
    filled();
    MmapCollection& c = reopened();
    const DiskLoc root = c.slot_details(0)->head;
    const Loc7 itself = Loc7::from(root);
    const int32_t first_node = kData + static_cast<int32_t>(sizeof(BucketHeader));
    const Loc7 child = bson::load<Loc7>(at(root.offset) + first_node);
    ASSERT_FALSE(child.is_null()) << "the tree has two levels";
    poke(root, first_node, itself);
    expect_words(error_of([&] { walk(tree(c)); }), "disagree");
    expect_words(error_of([&] { tree(c).find_one(bson::make("", name(0))); }), "disagree");
    expect_words(error_of([&] { tree(c).touch(); }), "disagree");
    poke(root, first_node, child);
    expect_valid();
}

TEST_F(DamagedReads, ARingWithoutFreeRegions) {
    MmapCollection& c = create_capped("test.c", 8192);
    for (int i = 0; i < 200; i++)
        c.records().insert(doc(i, 100));
    NamespaceDetails& d = details("test.c");
    views_.declare(&d, sizeof d);
    const DiskLoc head = d.deleted_list[0];
    d.deleted_list[0] = DiskLoc::null();
    const int64_t count = c.records().count();
    expect_words(error_of([&] { c.records().insert(doc(200, 100)); }), "test.c is damaged");
    EXPECT_EQ(c.records().count(), count) << "nothing had to go";
    views_.declare(&d, sizeof d);
    d.deleted_list[0] = head;
    expect_valid();
}

// Writing trusts no length and no link either.
TEST_F(DamagedReads, FreeRecordsThatReachTooFarOrElsewhere) {
    MmapCollection& c = filled();
    NamespaceDetails& d = details("test.c");
    const DiskLoc bucket = c.slot_details(0)->head;
    const DiskLoc live = last_record(c);
    walk(tree(c));  // the buckets have been examined
    for (int list = 0; list < kDeletedLists; list++) {
        const DiskLoc head = d.deleted_list[list];
        if (!head.is_valid()) continue;
        const DeletedRecord whole = db_->files().deleted(head);
        for (const int32_t length : {0x7ffffffc, -4, 0, 0x100000}) {
            poke(head, 0, length);
            poke(head, 8, DiskLoc::null());
            views_.declare(&d, sizeof d);
            const auto lists = std::to_array(d.deleted_list);
            for (DiskLoc& each : d.deleted_list)
                each = head;
            try {
                c.records().insert(doc(1000, 200));
            } catch (const base::Error& error) {
                expect_words(error.what(), "damaged");
            }
            std::ranges::copy(lists, d.deleted_list);
            poke(head, 0, whole);
        }
    }
    for (const DiskLoc wrong : {bucket, live, DiskLoc{0, db_->files().header(0).file_length - 20},
                                DiskLoc{0, 8192}, DiskLoc{7, 8192}, DiskLoc{0, -8192}}) {
        views_.declare(&d, sizeof d);
        const auto lists = std::to_array(d.deleted_list);
        for (DiskLoc& each : d.deleted_list)
            each = wrong;
        if (wrong != live) error_of([&] { c.records().insert(doc(1000, 200)); });
        views_.declare(&d, sizeof d);
        std::ranges::copy(lists, d.deleted_list);
    }
    EXPECT_EQ(walk(tree(c)), 200);
}

TEST_F(DamagedReads, RecordsThatAreChangedOrRemoved) {
    MmapCollection& c = filled();
    const DiskLoc loc = last_record(c);
    const RecordHeader whole = db_->files().record(loc);
    const auto all_refuse = [&](const char* what) {
        SCOPED_TRACE(what);
        EXPECT_NE(error_of([&] { c.records().remove(loc.id()); }), "no error");
        EXPECT_EQ(details("test.c").record_count, 200);
    };
    for (const int32_t length : {0x7ffffffc, -16, 0, 8, 17, 0x1000000}) {
        poke(loc, 0, length);
        all_refuse("length");
        EXPECT_NE(error_of([&] { c.records().overwrite(loc.id(), doc(1, 100)); }), "no error");
        EXPECT_NE(error_of([&] { c.records().fits(loc.id(), 100); }), "no error");
        poke(loc, 0, whole);
    }
    for (const int32_t extent : {0, 8192, -1, 0x7fffffff, loc.offset}) {
        poke(loc, 4, extent);
        all_refuse("extent");
        poke(loc, 0, whole);
    }
    for (const int32_t link : {0, loc.offset, 8192, 0x7ffffff0, -2}) {
        poke(loc, 8, link);
        all_refuse("next");
        poke(loc, 0, whole);
        poke(loc, 12, link);
        all_refuse("previous");
        poke(loc, 0, whole);
    }
    expect_valid();
}

TEST_F(DamagedReads, PaddingThatIsNoNumber) {
    MmapCollection& c = filled();
    NamespaceDetails& d = details("test.c");
    views_.declare(&d, sizeof d);
    d.user_flags = 0;
    for (const double factor : {std::nan(""), HUGE_VAL, -HUGE_VAL, -5.0, 0.0, 1e300}) {
        d.padding_factor = factor;
        EXPECT_GE(c.records().wanted_size(1000), 1016);
        EXPECT_LE(c.records().wanted_size(1000), 2032);
    }
    d.padding_factor = 1.0;
    d.user_flags = 1;
}

TEST_F(DamagedReads, BlocksOfFurtherIndexesThatLieElsewhere) {
    filled();
    NamespaceDetails& d = details("test.c");
    for (const int64_t distance : {int64_t{1}, int64_t{-1} << 40, int64_t{628}, int64_t{1} << 62}) {
        views_.declare(&d, sizeof d);
        d.extra_offset = distance;
        expect_words(error_of([&] { reopen(); }), "block of further indexes");
    }
}

TEST_F(DamagedReads, AnIndexWhoseDefinitionHasNoName) {
    MmapCollection& c = create("test.c");
    add_index(c, "", bson::make("p", 1));  // its namespace "test.c.$" is there
    const bson::Element name = db_->files().document(c.slot_details(0)->info)["name"];
    auto* const end_of_name = const_cast<uint8_t*>(name.value() - 2);
    views_.declare(end_of_name, 1);
    *end_of_name = '_';
    EXPECT_EQ(reopened().index(0).name, "");
}

TEST_F(DamagedReads, ABucketThatNamesAChildTwice) {
    filled();
    MmapCollection& c = reopened();
    const DiskLoc root = c.slot_details(0)->head;
    const int32_t first_node = kData + static_cast<int32_t>(sizeof(BucketHeader));
    const Loc7 child = bson::load<Loc7>(at(root.offset) + first_node);
    const BucketHeader header = bson::load<BucketHeader>(at(root.offset) + kData);
    BucketHeader bad = header;
    bad.next_child = child;
    poke(root, kData, bad);
    expect_words(error_of([&] { walk(tree(c)); }), "child twice");
    poke(root, kData, header);
    expect_valid();
}

// Whatever a few wrong bytes in an index do, they are answered.
TEST_F(DamagedReads, RandomBytesInAnIndex) {
    const DiskLoc root = filled().slot_details(0)->head;
    std::mt19937 random(7);
    constexpr int kRounds = 300;
    int refused = 0;
    for (int round = 0; round < kRounds; round++) {
        MmapCollection& c = reopened();
        const std::vector<uint8_t> before(at(root.offset), at(root.offset) + kBucketRecordBytes);
        const int hits = static_cast<int>(random() % 4) + 1;
        for (int i = 0; i < hits; i++)
            poke(root, kData + static_cast<int32_t>(random() % kBucketBytes),
                 static_cast<uint8_t>(random()));
        try {
            walk(tree(c));
            tree(c).find_one(bson::make("", name(round % 200)));
        } catch (const base::Error& error) {
            ++refused;
            expect_words(error.what(), "damaged");
        }
        views_.declare(at(root.offset), before.size());
        std::memcpy(at(root.offset), before.data(), before.size());
    }
    EXPECT_GT(refused, 0);
    reopen();
    expect_valid();
}

}  // namespace
}  // namespace mmapv1
