// Links in a crafted file that lead to bytes of another namespace: what follows them to write says
// that the database is damaged, and the neighbour keeps every byte.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "storage/mmapv1/btree/index_store.h"
#include "storage/mmapv1/btree/layout.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

constexpr int32_t kData = sizeof(RecordHeader);

class ForeignLinks : public DatabaseTest {
  protected:
    // Collections "test.a" and "test.b" with an index each, free records, and documents whose bytes
    // tests make use of.
    void SetUp() override {
        DatabaseTest::SetUp();
        for (const char* ns : {"test.a", "test.b"}) {
            MmapCollection& c = create(ns);
            const int slot = add_index(c, "x", bson::make("_id", 1));
            for (int i = 0; i < 40; ++i) {
                const storage::RecordId id = c.records().insert(doc(i, 1000));
                c.index(slot).index->insert(bson::make("", i), id, true);
            }
            for (int i = 10; i < 14; ++i)
                remove(c, i);
        }
        expect_valid();
    }
    MmapCollection& a() { return *db_->find("test.a"); }
    MmapCollection& b() { return *db_->find("test.b"); }

    static void remove(MmapCollection& c, int id) {
        const DiskLoc loc = place_of(c, id);
        c.index(0).index->remove(bson::make("", id), loc.id());
        c.records().remove(loc.id());
    }
    static DiskLoc place_of(MmapCollection& c, int id) {
        const auto cursor = c.records().cursor(storage::Direction::forward);
        while (const auto record = cursor->next())
            if (record->doc["_id"].as_int32() == id) return DiskLoc::from(record->id);
        ADD_FAILURE() << "no document " << id;
        return DiskLoc::null();
    }
    template <typename T>
    void poke(DiskLoc loc, int32_t offset, const T& value) {
        uint8_t* to = db_->files().at(loc, 1) + offset;
        views_.declare(to, sizeof value);
        std::memcpy(to, &value, sizeof value);
    }
    NamespaceDetails& change(const std::string& ns) { return views_.writing(details(ns)); }
    // A place among the bytes of a document of the neighbour.
    DiskLoc inside(int id, int32_t offset = 128) {
        DiskLoc at = place_of(b(), id);
        at.offset += kData + offset;
        return at;
    }
    // A free record of a namespace.
    DiskLoc free_record(const std::string& ns) {
        for (const DiskLoc head : details(ns).deleted_list)
            if (head.is_valid()) return head;
        ADD_FAILURE() << ns << " has no free record";
        return DiskLoc::null();
    }
    void put_on_all_lists(const std::string& ns, DiskLoc loc) {
        NamespaceDetails& d = change(ns);
        for (DiskLoc& head : d.deleted_list)
            head = loc;
    }

    // Returns the bytes of the extents of a namespace, and its entry.
    std::string bytes_of(const std::string& ns) {
        std::string bytes(reinterpret_cast<const char*>(&details(ns)), sizeof(NamespaceDetails));
        for (DiskLoc at = details(ns).first_extent; at.is_valid();
             at = db_->files().extent(at).next) {
            const ExtentHeader& extent = db_->files().extent(at);
            bytes.append(reinterpret_cast<const char*>(&extent),
                         static_cast<size_t>(extent.length));
        }
        return bytes;
    }
    std::string neighbour() { return bytes_of("test.b") + bytes_of("test.b.$x"); }

    // Opens the database anew and does something that must be refused and change nothing there.
    template <typename Work>
    void expect_refused(Work work) {
        reopen();
        const std::string before = neighbour();
        EXPECT_THROW(work(), base::Error);
        EXPECT_TRUE(neighbour() == before) << "the neighbour has other bytes";
    }
    // The same where part of it may succeed.
    template <typename Work>
    void expect_harmless(Work work) {
        reopen();
        const std::string before = neighbour();
        try {
            work();
        } catch (const base::Error&) {
        }
        EXPECT_TRUE(neighbour() == before) << "the neighbour has other bytes";
    }
    void reopen_without_upgrade() {
        db_->close();
        db_ = std::make_unique<MmapDatabase>(views_, "test", policy_, samplers_,
                                             MmapDatabase::Mode::open);
    }
    void fill_and_drop() {
        MmapCollection& gone = create("test.gone");
        gone.records().insert(doc(1, 100));
        db_->drop_collection("test.gone");
        ASSERT_TRUE(db_->files().header(0).free_list_start.is_valid());
    }
    // A header that looks right, among the bytes of the neighbour's document.
    DiskLoc forge_extent(int id) {
        DiskLoc at = inside(id);
        at.offset = (at.offset + 3) / 4 * 4;
        ExtentHeader forged = db_->files().extent(details("test.b").first_extent);
        forged.my_loc = at;
        forged.length = kMinExtentBytes;
        forged.next = forged.prev = DiskLoc::null();
        forged.first_record = forged.last_record = DiskLoc::null();
        poke(at, 0, forged);
        return at;
    }
};

TEST_F(ForeignLinks, AFreeRecordOfAnother) {
    put_on_all_lists("test.a", free_record("test.b"));
    expect_refused([&] { a().records().insert(doc(100, 900)); });
}

TEST_F(ForeignLinks, AFreeRecordInAForgedExtent) {
    const DiskLoc extent = forge_extent(5);
    const DiskLoc loc{extent.file, extent.offset + kExtentHeaderBytes};
    poke(loc, 0, DeletedRecord{512, extent.offset, DiskLoc::null(), kDeletedMarker});
    put_on_all_lists("test.a", loc);
    expect_refused([&] { a().records().insert(doc(100, 100)); });
}

// Taking a record off a list changes the link before it.
TEST_F(ForeignLinks, AListThatRunsThroughAnother) {
    const DiskLoc own = free_record("test.a");
    const DiskLoc through = inside(5);
    poke(through, 0, DeletedRecord{32, 0, own, 0});
    put_on_all_lists("test.a", through);
    expect_refused([&] { a().records().insert(doc(100, 900)); });
}

TEST_F(ForeignLinks, ARecordThatIsChangedOrRemoved) {
    const storage::RecordId foreign = place_of(b(), 7).id();
    expect_refused([&] { a().records().overwrite(foreign, doc(1, 10)); });
    const uint8_t byte = 1;
    expect_refused([&] { a().records().overwrite_range(foreign, 20, {&byte, 1}); });
    expect_refused([&] { a().records().remove(foreign); });
}

// Both neighbours of a record are written when it goes.
TEST_F(ForeignLinks, ARecordWhoseNeighboursLieElsewhere) {
    for (const int32_t link : {8, 12}) {
        const DiskLoc own = place_of(a(), 20);
        const RecordHeader whole = db_->files().record(own);
        const DiskLoc to = inside(link == 8 ? 5 : 6);
        poke(to, link == 8 ? 12 : 8, own.offset);
        poke(own, link, to.offset);
        expect_refused([&] { a().records().remove(own.id()); });
        poke(own, 0, whole);
    }
}

TEST_F(ForeignLinks, ALastExtentOfAnother) {
    change("test.a").last_extent = details("test.b").last_extent;
    expect_refused([&] {
        for (int i = 100; i < 1000; ++i)
            a().records().insert(doc(i, 3000));
    });
}

TEST_F(ForeignLinks, ALastExtentThatIsNotTheLast) {
    for (int i = 100; i < 400; ++i)
        a().records().insert(doc(i, 3000));
    ASSERT_NE(details("test.a").first_extent, details("test.a").last_extent);
    change("test.a").last_extent = details("test.a").first_extent;
    reopen();
    const size_t count = ids(a()).size();
    EXPECT_THROW(
        {
            for (int i = 1000; i < 9000; ++i)
                a().records().insert(doc(i, 3000));
        },
        base::Error);
    EXPECT_GE(ids(a()).size(), count);
}

TEST_F(ForeignLinks, AnExtentInFrontOfTheFirst) {
    for (const DiskLoc to : {details("test.b").first_extent, forge_extent(5)}) {
        views_.writing(db_->files().extent(details("test.a").first_extent)).prev = to;
        expect_harmless([&] {
            bson::Builder out;
            a().compact(bson::Object(), {}, out);
        });
    }
}

TEST_F(ForeignLinks, AFreeExtentBehindOneThatIsNone) {
    fill_and_drop();
    ExtentHeader& free =
        views_.writing(db_->files().extent(db_->files().header(0).free_list_start));
    const DiskLoc none = inside(5);
    free.next = none;
    poke(none, 12, details("test.b").first_extent);  // where a header has its next one
    expect_harmless([&] {
        for (int i = 0; i < 20; ++i)
            create("test.new" + std::to_string(i));
        for (int i = 100; i < 1000; ++i)
            a().records().insert(doc(i, 3000));
    });
}

TEST_F(ForeignLinks, AFreeExtentBehindAForgedOne) {
    fill_and_drop();
    const DiskLoc head = db_->files().header(0).free_list_start;
    const DiskLoc forged = forge_extent(5);
    views_.writing(db_->files().extent(forged)).next = head;
    views_.writing(db_->files().extent(head)).prev = forged;
    expect_harmless([&] {
        for (int i = 0; i < 20; ++i)
            create("test.new" + std::to_string(i));
    });
}

// A header that says that less of the file is in use: what is made anew would lie over the rest.
TEST_F(ForeignLinks, ExtentsBehindWhatIsInUse) {
    DataFileHeader& header = views_.writing(db_->files().header(0));
    const DiskLoc first = details("test.b").first_extent;
    header.unused_length += header.unused.offset - first.offset;
    header.unused = first;
    expect_refused([&] { create("test.new"); });
    expect_refused([&] {
        for (int i = 100; i < 1000; ++i)
            a().records().insert(doc(i, 3000));
    });
    EXPECT_EQ(ids(b()).size(), 36U);
}

TEST_F(ForeignLinks, ADefinitionInAnother) {
    const bson::Object definition =
        bson::make("v", 1, "key", bson::make("_id", 1), "name", "x", "ns", "test.a", "t", 5);
    const DiskLoc foreign = DiskLoc::from(b().records().insert(definition));
    views_.writing(a().slot_details(0)->info) = foreign;
    expect_refused([&] { a().replace_index_spec(0, definition); });
    expect_harmless([&] { db_->rename_collection("test.a", "test.z", false); });
    db_->rename_collection("test.z", "test.a", false);
    views_.writing(a().slot_details(0)->info) = foreign;
    expect_harmless([&] { a().drop_index(0); });
}

TEST_F(ForeignLinks, ARootOfAnotherIndex) {
    views_.writing(a().slot_details(0)->head) = b().slot_details(0)->head;
    const storage::RecordId own = place_of(a(), 20).id();
    expect_refused([&] { a().index(0).index->insert(bson::make("", 500), own, true); });
    expect_refused([&] { a().index(0).index->remove(bson::make("", 20), own); });
    reopen();
    b().index(0).index->find_one(bson::make("", 20));  // it has been examined
    const std::string before = neighbour();
    EXPECT_THROW(a().index(0).index->insert(bson::make("", 500), own, true), base::Error);
    EXPECT_TRUE(neighbour() == before);
}

TEST_F(ForeignLinks, ARootInsideADocument) {
    const bson::Object large = doc(90, 20000);
    DiskLoc loc = DiskLoc::from(b().records().insert(large));
    loc.offset += kData + 1000 / 4 * 4;
    const DiskLoc root = a().slot_details(0)->head;
    std::memcpy(views_
                    .writing(reinterpret_cast<std::array<uint8_t, kBucketRecordBytes>*>(
                        db_->files().at(loc, kBucketRecordBytes)))
                    ->data(),
                db_->files().at(root, kBucketRecordBytes), kBucketRecordBytes);
    views_.writing(a().slot_details(0)->head) = loc;
    const storage::RecordId own = place_of(a(), 20).id();
    expect_refused([&] { a().index(0).index->insert(bson::make("", 500), own, true); });
}

// A ring keeps the end of the previous extent's free regions, and writes the link there.
TEST_F(ForeignLinks, ARingWhosePreviousEndLiesElsewhere) {
    MmapCollection* ring = &create_capped("test.ring", 16384);
    for (int i = 0; i < 300; ++i)
        ring->records().insert(doc(i, 200));
    const DiskLoc to = inside(5);
    for (const DiskLoc next : {DiskLoc::null(), details("test.ring").deleted_list[0]}) {
        poke(to, 8, next);
        change("test.ring").deleted_list[1] = to;
        expect_harmless([&] {
            for (int i = 0; i < 50; ++i)
                db_->find("test.ring")->records().insert(doc(i, 200));
        });
        expect_harmless([&] {
            MmapRecordStore& records = db_->find("test.ring")->records();
            records.truncate_after(records.first_id(storage::Direction::backward), true);
        });
    }
}

TEST_F(ForeignLinks, AnAncientRingWhoseListEndsElsewhere) {
    create_capped("test.ring", 16384);
    NamespaceDetails& d = change("test.ring");
    const DiskLoc own = d.deleted_list[0];
    const DiskLoc to = inside(5);
    poke(to, 8, DiskLoc::null());
    d.deleted_list[0] = to;
    for (int list = 1; list < kDeletedLists; ++list)
        d.deleted_list[list] = DiskLoc::null();
    d.deleted_list[5] = own;
    d.cap_extent = d.cap_first_new = {0, 0};
    const std::string before = neighbour();
    try {
        reopen();
    } catch (const base::Error&) {
    }
    reopen_without_upgrade();
    EXPECT_TRUE(neighbour() == before);
}

}  // namespace
}  // namespace mmapv1
