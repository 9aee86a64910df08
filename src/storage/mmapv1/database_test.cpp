#include "storage/mmapv1/database.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string_view>

#include "base/error.h"
#include "base/testing/effort.h"
#include "bson/json.h"
#include "os/testing/sim_file_system.h"
#include "os/testing/step_clock.h"
#include "storage/mmapv1/testing/database.h"
#include "storage/renamed.h"

namespace mmapv1 {
namespace {

// The worked examples of mmapv1 spec 11.
TEST_F(DatabaseTest, FirstInsertLaysOutTheFileAsTheOldServerDid) {
    storage::CollectionOptions options;
    options.id_index = true;
    MmapCollection& foo = create("test.foo", options);
    add_index(foo, "_id_", bson::make("_id", 1));
    const storage::RecordId id = foo.records().insert(bson::make("_id", 1, "x", "hello"));
    expect_valid();

    EXPECT_EQ(id, (DiskLoc{0, 0x40b0}.id()));
    const DataFileHeader& header = db_->files().header(0);
    EXPECT_EQ(header.version, 4);
    EXPECT_EQ(header.version_minor, 5);
    EXPECT_EQ(header.unused, (DiskLoc{0, 0x28000}));
    EXPECT_EQ(header.unused.offset + header.unused_length + 16, header.file_length);
    EXPECT_EQ(header.free_list_start, DiskLoc::null());

    const NamespaceDetails& d = details("test.foo");
    EXPECT_EQ(d.first_extent, (DiskLoc{0, 0x4000}));
    EXPECT_EQ(d.last_extent, (DiskLoc{0, 0x4000}));
    for (int list = 0; list < kDeletedLists; list++)
        EXPECT_EQ(d.deleted_list[list], list == 8 ? (DiskLoc{0, 0x40f0}) : DiskLoc::null());
    EXPECT_EQ(d.data_bytes, 48);
    EXPECT_EQ(d.record_count, 1);
    EXPECT_EQ(d.last_extent_bytes, 8192);
    EXPECT_EQ(d.index_count, 1);
    EXPECT_EQ(d.indexes[0].head, (DiskLoc{0, 0x9000}));
    EXPECT_EQ(d.indexes[0].info.offset, 0x60b0);
    EXPECT_EQ(d.indexes[1].head, DiskLoc::null());
    EXPECT_EQ(d.max_documents, 0x7fffffff);
    EXPECT_EQ(d.system_flags, 1);
    EXPECT_EQ(d.cap_extent, (DiskLoc{0, 0x4000}));
    EXPECT_EQ(d.cap_first_new, DiskLoc::invalid());
    EXPECT_EQ(d.user_flags, 1);

    const auto& record = db_->files().record({0, 0x40b0});
    EXPECT_EQ(record.length, 64);
    EXPECT_EQ(record.extent_offset, 0x4000);
    EXPECT_EQ(record.next_offset, -1);
    const auto& rest = db_->files().deleted({0, 0x40f0});
    EXPECT_EQ(rest.length, 7952);
    EXPECT_EQ(rest.marker, kDeletedMarker);
    EXPECT_EQ(db_->files().deleted({0, 0xb000}).length, 0x1d000);
    EXPECT_EQ(details("test.foo.$_id_").deleted_list[12], (DiskLoc{0, 0xb000}));
    EXPECT_EQ(db_->files().record({0, 0x60b0}).length, 128);
}

TEST_F(DatabaseTest, NamesLieWhereTheirHashesSay) {
    EXPECT_EQ(NamespaceIndex::hash("test.foo"), 0x5b7be3a2);
    EXPECT_EQ(NamespaceIndex::hash("test.foo.$_id_"), 0x7c04bb21);
    EXPECT_EQ(NamespaceIndex::hash("admin.$freelist"), 0x68f4731b);
    EXPECT_EQ(NamespaceIndex::hash("test.caf\xc3\xa9"), 0x6d628a66);
    const NamespaceIndex& table = db_->namespaces();
    EXPECT_EQ(table.slot_count(), 1669);
    EXPECT_EQ(table.max_chain(), 83);
    EXPECT_EQ(table.home(NamespaceIndex::hash("local.oplog.rs")), 1205);
    EXPECT_EQ(table.home(NamespaceIndex::hash("test.caf\xc3\xa9")), 517);
}

TEST_F(DatabaseTest, ExtentsGrowByTheOldSizes) {
    const int32_t max = FilePolicy{}.max_extent_bytes();
    int32_t last = initial_extent(128, max);
    EXPECT_EQ(last, 8192);
    for (const int32_t wanted :
         {32768, 131072, 524288, 2097152, 8388608, 11325440, 15290368, 20643840, 27869184})
        EXPECT_EQ(last = next_extent(128, last, max), wanted);
    EXPECT_EQ(next_extent(8192, 0, max), 131072);
    EXPECT_EQ(next_extent(128, 0x70000000, max), max);
    EXPECT_EQ(max, 2146426864);
}

TEST_F(DatabaseTest, FilesGrowByTheOldSizes) {
    FilePolicy small = small_policy();
    EXPECT_EQ(DataFiles::file_bytes(0, 0, 8192, FilePolicy{}), 67108864);
    EXPECT_EQ(DataFiles::file_bytes(4, 0, 8192, FilePolicy{}), 1073741824);
    EXPECT_EQ(DataFiles::file_bytes(5, 0, 8192, FilePolicy{}), 2146435072);
    EXPECT_EQ(DataFiles::file_bytes(5, 0, 8192, small), 536608768);
    EXPECT_EQ(DataFiles::file_bytes(1, 16777216, 96 << 20, small), 134217728);
    EXPECT_EQ(DataFiles::file_bytes(1, 536608768, 8192, small), 536608768);
}

TEST_F(DatabaseTest, ListsHoldTheirSizes) {
    EXPECT_EQ(deleted_list_of(24), 0);
    EXPECT_EQ(deleted_list_of(32), 1);
    EXPECT_EQ(deleted_list_of(256), 4);
    EXPECT_EQ(deleted_list_of(0x3fffff), 17);
    EXPECT_EQ(deleted_list_of(0x400000), 18);
    EXPECT_EQ(deleted_list_of(0x2000000), 18);
}

TEST_F(DatabaseTest, RecordSizesFollowTheFlags) {
    MmapRecordStore& powers = create("test.p").records();
    EXPECT_EQ(powers.wanted_size(100 - 16), 128);
    EXPECT_EQ(powers.wanted_size(256 - 16), 512);
    EXPECT_EQ(powers.wanted_size((4 << 20) - 16), 5 << 20);
    storage::CollectionOptions plain;
    plain.user_flags = 0;
    MmapCollection& exact = create("test.e", plain);
    EXPECT_EQ(exact.records().wanted_size(100), 116);
    exact.details().padding_factor = 1.5;
    EXPECT_EQ(exact.records().wanted_size(101), 175);
    EXPECT_EQ(quantised_record(2768), 2816);
}

// Random inserts, growing and shrinking updates and removals against a model.
TEST_F(DatabaseTest, RandomChangesKeepEveryInvariant) {
    std::mt19937 random(20140401);
    const int steps = base::test_effort(6000);
    for (const int flags : {0, 1}) {
        storage::CollectionOptions options;
        options.user_flags = flags;
        const std::string ns = flags == 0 ? "test.exact" : "test.powers";
        create(ns, options);
        std::map<int, storage::RecordId> model;
        int next_id = 0;
        for (int step = 0; step < steps; step++) {
            if (step % 4000 == 3999) reopen();
            MmapCollection& collection = *db_->find(ns);
            const size_t pad = random() % 10 == 0 ? random() % 20000 : random() % 300;
            if (model.empty() || random() % 5 < 2) {
                const int id = next_id++;
                model[id] = collection.records().insert(doc(id, pad));
            } else {
                const auto it = std::next(model.begin(), static_cast<int>(random() % model.size()));
                const bson::Object changed = doc(it->first, pad);
                if (random() % 2 == 0) {
                    collection.records().remove(it->second);
                    model.erase(it);
                } else if (collection.records().fits(it->second, changed.size())) {
                    collection.records().overwrite(it->second, changed);
                } else {
                    const storage::RecordId old = it->second;
                    it->second = collection.records().insert_moved(old, changed);
                    collection.records().remove(old);
                }
            }
            if (step % 1500 == 0) expect_valid();
        }
        expect_valid();
        MmapCollection& collection = *db_->find(ns);
        ASSERT_EQ(collection.records().count(), static_cast<int64_t>(model.size()));
        std::vector<int> found = ids(collection);
        std::sort(found.begin(), found.end());
        std::vector<int> wanted;
        for (const auto& [id, loc] : model) {
            wanted.push_back(id);
            EXPECT_EQ(collection.records().get(loc)["_id"].as_int32(), id);
        }
        EXPECT_EQ(found, wanted);
        std::vector<int> backward = ids(collection, storage::Direction::backward);
        const std::vector<int> forward = ids(collection);
        EXPECT_EQ(std::vector<int>(backward.rbegin(), backward.rend()), forward);
    }
    reopen();
    expect_valid();
}

// A file that a crash has left under the next name holds data of another database, or none.
TEST_F(DatabaseTest, ADataFileThatHasBeenUsedIsNotTaken) {
    create("test.c");
    ASSERT_EQ(db_->files().count(), 1);
    MappedFile& other = views_.create("test.1", 32 << 20);
    views_.note_created(other);
    views_.declare(other.view(), 4);
    *reinterpret_cast<int32_t*>(other.view()) = kVersionMajor;
    const bson::Object large = doc(1, 12 << 20);
    const auto insert_both = [&] {
        for (int i = 0; i < 2; ++i)
            db_->find("test.c")->records().insert(large);
    };
    EXPECT_THROW(insert_both(), base::Error);
    EXPECT_EQ(db_->files().count(), 1);
    *reinterpret_cast<int32_t*>(other.view()) = 0;  // as it is made in advance
    views_.declare(other.view(), 4);
    insert_both();
    EXPECT_GE(db_->files().count(), 2);
    EXPECT_EQ(db_->files().file(1).length(), 32 << 20);
}

TEST_F(DatabaseTest, ManyIndexesUseExtraBlocks) {
    MmapCollection& many = create("test.many");
    for (int i = 0; i < 46; i++)
        add_index(many, "k" + std::to_string(i), bson::make("k" + std::to_string(i), 1));
    expect_valid();
    EXPECT_EQ(many.details().extra_offset, reinterpret_cast<uint8_t*>(&details("test.many$extra")) -
                                               reinterpret_cast<uint8_t*>(&many.details()));
    many.set_multikey(45);
    many.set_multikey(3);
    many.drop_index(7);
    many.drop_index(2);
    expect_valid();
    EXPECT_EQ(many.index_count(), 44);
    EXPECT_EQ(many.index(43).name, "k45");
    EXPECT_TRUE(many.index(43).multikey);
    EXPECT_EQ(many.index(2).name, "k3");
    EXPECT_TRUE(many.index(2).multikey);
    EXPECT_FALSE(many.index(3).multikey);

    db_->rename_collection("test.many", "test.lots", false);
    expect_valid();
    EXPECT_EQ(db_->find("test.many"), nullptr);
    EXPECT_EQ(db_->find("test.lots")->index(43).spec["ns"].as_string(), "test.lots");
    reopen();
    expect_valid();
    EXPECT_EQ(db_->find("test.lots")->index_count(), 44);
    db_->drop_collection("test.lots");
    expect_valid();
    EXPECT_EQ(db_->namespaces().all().size(), 2u);
}

TEST_F(DatabaseTest, FinishingALaterBuildFirstSwapsTheSlots) {
    MmapCollection& c = create("test.c");
    const auto spec = [&](const char* name) {
        return bson::make("v", 1, "key", bson::make(name, 1), "name", name, "ns", "test.c");
    };
    const int a = c.begin_index(spec("a"));
    const int b = c.begin_index(spec("b"));
    c.set_multikey(b);
    EXPECT_EQ(c.finish_index(b), 0);
    EXPECT_EQ(c.index(0).name, "b");
    EXPECT_TRUE(c.index(0).multikey);
    EXPECT_TRUE(c.index(0).ready);
    EXPECT_EQ(c.index(1).name, "a");
    EXPECT_FALSE(c.index(1).ready);
    EXPECT_FALSE(c.index(1).multikey);
    EXPECT_EQ(a, 0);
    // A stop of the server now leaves the unfinished one to be found and dropped.
    reopen();
    MmapCollection& again = *db_->find("test.c");
    EXPECT_FALSE(again.index(1).ready);
    again.drop_index(1);
    expect_valid();
    EXPECT_EQ(again.details().index_builds, 0);
    EXPECT_EQ(again.details().index_count, 1);
}

TEST_F(DatabaseTest, AFullNamespaceFileRefusesAndStaysValid) {
    // 83 slots from a name's home on: fill them for one name after the other.
    const auto fill_around = [&](const std::string& ns) {
        NamespaceIndex& table = db_->namespaces();
        const int32_t home = table.home(NamespaceIndex::hash(ns));
        for (int32_t i = 0; i < table.max_chain(); i++) {
            NamespaceSlot& slot = table.slot((home + i) % table.slot_count());
            if (slot.hash == 0) views_.writing(slot).hash = 1;
        }
    };
    const auto clear = [&] {
        NamespaceIndex& table = db_->namespaces();
        for (int32_t i = 0; i < table.slot_count(); i++)
            if (table.slot(i).hash == 1) views_.writing(table.slot(i)).hash = 0;
    };
    MmapCollection& c = create("test.c");
    for (int i = 0; i < 10; i++)
        add_index(c, "k" + std::to_string(i), bson::make("k", 1));
    const auto expect_refused = [&](const std::string& ns, const std::function<void()>& act) {
        fill_around(ns);
        EXPECT_THROW(act(), base::Error) << ns;
        clear();
        expect_valid();
        EXPECT_EQ(c.index_count(), 10);
    };
    const bson::Object spec =
        bson::make("v", 1, "key", bson::make("z", 1), "name", "z", "ns", "test.c");
    expect_refused("test.d", [&] { create("test.d"); });
    expect_refused("test.c.$z", [&] { c.begin_index(spec); });
    expect_refused("test.c$extra", [&] { c.begin_index(spec); });
    expect_refused("test.e", [&] { db_->rename_collection("test.c", "test.e", false); });
    expect_refused("test.e.$k7", [&] { db_->rename_collection("test.c", "test.e", false); });
    c.finish_index(c.begin_index(spec));
    expect_valid();
}

TEST_F(DatabaseTest, DroppedSpaceIsUsedAgain) {
    MmapCollection& first = create("test.first");
    add_index(first, "_id_", bson::make("_id", 1));
    for (int i = 0; i < 200; i++)
        first.records().insert(doc(i, 100));
    const int32_t tail = db_->files().header(0).unused.offset;
    db_->drop_collection("test.first");
    expect_valid();
    MmapCollection& second = create("test.second");
    add_index(second, "_id_", bson::make("_id", 1));
    for (int i = 0; i < 200; i++)
        second.records().insert(doc(i, 100));
    expect_valid();
    EXPECT_EQ(db_->files().header(0).unused.offset, tail);
}

TEST_F(DatabaseTest, RemovedDefinitionsAreZeroedAndTheirPlaceIsNotUsed) {
    MmapCollection& c = create("test.c");
    add_index(c, "a", bson::make("a", 1));
    const DiskLoc info = c.slot_details(0)->info;
    const int32_t length = db_->files().record(info).length;
    c.drop_index(0);
    for (int32_t i = 0; i < length; i++)
        ASSERT_EQ(db_->files().at(info, 1)[i], 0);
    add_index(c, "a", bson::make("a", 1));
    EXPECT_NE(c.slot_details(0)->info, info);
    expect_valid();
}

TEST_F(DatabaseTest, A24FreeListMovesIntoTheHeader) {
    MmapCollection& c = create("test.c");
    for (int i = 0; i < 100; i++)
        c.records().insert(doc(i, 100));
    db_->drop_collection("test.c");
    DataFileHeader& header = db_->files().header(0);
    NamespaceDetails& old = db_->namespaces().add("test.$freelist").details;
    NamespaceIndex::init_details(old);
    views_.declare(&header, sizeof header);
    old.first_extent = header.free_list_start;
    old.last_extent = header.free_list_end;
    header.free_list_start = header.free_list_end = DiskLoc{0, 0};
    int64_t bytes = 0;
    EXPECT_EQ(db_->extents().free_count(&bytes), 0);
    expect_valid();
    reopen();
    EXPECT_GT(db_->extents().free_count(&bytes), 0);
    EXPECT_EQ(db_->namespaces().find("test.$freelist"), nullptr);
    expect_valid();
}

// The one collection whose name looks like an index's.
TEST_F(DatabaseTest, NoIndexIsCalledAsTheOperationLog) {
    make_local();
    MmapCollection& log = create_capped("local.oplog.$main", 16384);
    log.records().insert(doc(1, 100));
    MmapCollection& c = create("local.oplog");
    EXPECT_THROW(add_index(c, "main", bson::make("x", 1)), base::Error);
    MmapCollection& other = create("local.other");
    add_index(other, "main", bson::make("x", 1));
    db_->drop_collection("local.oplog");
    EXPECT_THROW(db_->rename_collection("local.other", "local.oplog", false), base::Error);
    EXPECT_EQ(ids(log), std::vector<int>{1});
    expect_valid();
}

// A file where it is so is read, and neither of the two is written.
TEST_F(DatabaseTest, AnIndexWithTheNameOfACollectionIsNotWritten) {
    make_local();
    create_capped("local.oplog.$main", 16384).records().insert(doc(1, 100));
    MmapCollection& c = create("local.oplog");
    const int slot = add_index(c, "mine", bson::make("x", 1));
    c.records().insert(doc(2, 100));
    const DiskLoc info = c.slot_details(slot)->info;
    const std::string_view name = db_->files().document(info)["name"].as_string();
    uint8_t* text =
        at(info.offset) + (name.data() - reinterpret_cast<const char*>(at(info.offset)));
    views_.declare(text, 4);
    std::ranges::copy(std::string_view("main"), text);
    reopen();
    for (const char* ns : {"local.oplog", "local.oplog.$main"}) {
        EXPECT_EQ(ids(*db_->find(ns)).size(), 1U);
        EXPECT_THROW(db_->find(ns)->records().insert(doc(3, 100)), base::Error);
    }
}

TEST_F(DatabaseTest, RepairTakesNoExistingName) {
    for (const char* ns : {"test.tmp.catalogue", "test.c"})
        create(ns).records().insert(doc(1, 100));
    db_->repair();
    for (const char* ns : {"test.tmp.catalogue", "test.c"})
        EXPECT_EQ(ids(*db_->find(ns)), std::vector<int>{1});
    expect_valid(true);
}

TEST_F(DatabaseTest, CursorsMoveOnWhenTheirRecordGoes) {
    MmapCollection& c = create("test.c");
    std::vector<storage::RecordId> at;
    for (int i = 0; i < 5; i++)
        at.push_back(c.records().insert(doc(i, 10)));
    const auto forward = c.records().cursor(storage::Direction::forward);
    const auto backward = c.records().cursor(storage::Direction::backward);
    EXPECT_EQ(forward->next()->id, at[0]);
    EXPECT_EQ(backward->next()->id, at[4]);
    EXPECT_EQ(forward->next()->id, at[1]);
    forward->save();
    c.records().remove(at[1]);
    c.records().remove(at[2]);
    EXPECT_TRUE(forward->restore());
    EXPECT_EQ(forward->next()->id, at[3]);
    EXPECT_EQ(backward->next()->id, at[3]);
    c.records().remove(at[0]);
    EXPECT_FALSE(backward->next().has_value());
    const auto seeker = c.records().cursor(storage::Direction::forward);
    seeker->seek(at[2]);
    EXPECT_FALSE(seeker->next().has_value());
    seeker->seek(at[3]);
    EXPECT_EQ(seeker->next()->id, at[3]);
    db_->drop_collection("test.c");
    EXPECT_FALSE(forward->restore());
    EXPECT_FALSE(forward->next().has_value());
}

TEST_F(DatabaseTest, CompactRewritesIntoFreshExtents) {
    MmapCollection& c = create("test.c");
    for (int i = 0; i < 100; i++)
        c.records().insert(doc(i, 200));
    std::vector<storage::RecordId> gone;
    const auto cursor = c.records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next())
        if (record->doc["_id"].as_int32() % 2 == 0) gone.push_back(record->id);
    for (const storage::RecordId id : gone)
        c.records().remove(id);
    bool prepared = false;
    std::vector<int> copied;
    bson::Builder out;
    c.compact(bson::make("compact", "c"),
              {[&] { prepared = copied.empty(); },
               [&](const storage::Record& r) { copied.push_back(r.doc["_id"].as_int32()); }},
              out);
    expect_valid();
    EXPECT_TRUE(prepared);
    EXPECT_EQ(copied, ids(c));
    const storage::RecordStoreStats stats = c.records().stats();
    EXPECT_EQ(stats.storage_bytes, 20480);
    EXPECT_EQ(stats.extents, 2);
    EXPECT_EQ(stats.data_bytes, 12000);
    EXPECT_FALSE(cursor->restore());
}

TEST_F(DatabaseTest, FilesOfNewerServersAreOnlyRead) {
    create("test.c").records().insert(doc(1, 10));
    DataFileHeader& header = db_->files().header(0);
    views_.declare(&header, sizeof header);
    header.version_minor = 0x15;
    reopen();
    MmapCollection& c = *db_->find("test.c");
    EXPECT_EQ(ids(c), std::vector<int>{1});
    EXPECT_THROW(c.check_writable(), base::Error);
    EXPECT_THROW(c.records().insert(doc(2, 10)), base::Error);
    EXPECT_THROW(create("test.d"), base::Error);
    expect_valid();
    header.version_minor = 0x25;
    EXPECT_THROW(reopen(), base::Error);
}

TEST_F(DatabaseTest, PluginIndexesMakeACollectionReadOnly) {
    MmapCollection& c = create("test.c");
    add_index(c, "a", bson::make("a", 1));
    const DiskLoc info = c.slot_details(0)->info;
    const bson::Object plugin =
        bson::make("v", 1, "key", bson::make("a", "2dsphere"), "name", "a", "ns", "test.c");
    views_.write(db_->files().record(info).data(), plugin.doc().data(),
                 static_cast<size_t>(plugin.size()));
    reopen();
    MmapCollection& again = *db_->find("test.c");
    EXPECT_EQ(again.index(0).index, nullptr);
    EXPECT_THROW(again.check_writable(), base::Error);
    again.drop_index(0);
    again.check_writable();
    expect_valid();
}

// Two things make a 2.6 refuse the collection: files of level 6, and a kind that it does not know.
TEST_F(DatabaseTest, APartialIndexIsOfAKindOfItsOwnOnDisk) {
    MmapCollection& c = create("test.c");
    const auto minor = [this] { return db_->files().header(0).version_minor; };
    add_index(c, "plain", bson::make("a", 1));
    EXPECT_EQ(minor(), kVersionMinorPlain);
    const bson::Object spec =
        bson::make("v", 1, "key", bson::make("a", 1, "b", -1), "name", "p", "ns", "test.c",
                   "partialFilterExpression", bson::make("a", 5));
    c.finish_index(c.begin_index(spec));
    EXPECT_EQ(minor(), kVersionMinorPlugins);
    const bson::Doc stored = db_->files().document(c.slot_details(1)->info);
    EXPECT_EQ(stored["key"].as_doc().first().as_string(), "partial");
    EXPECT_EQ(stored["key"].as_doc().field_count(), 3);
    EXPECT_TRUE(std::ranges::equal(c.index(1).spec.bytes(), spec.bytes()));
    // A client reads this in system.indexes.
    MmapRecordStore& catalogue = db_->find("test.system.indexes")->records();
    const storage::RecordId id = c.slot_details(1)->info.id();
    EXPECT_TRUE(std::ranges::equal(catalogue.get(id).bytes(), spec.bytes()));
    const auto cursor = catalogue.cursor(storage::Direction::backward);
    EXPECT_TRUE(std::ranges::equal(cursor->next()->doc.bytes(), spec.bytes()));
    db_->rename_collection("test.c", "test.d", false);
    reopen();
    MmapCollection& again = *db_->find("test.d");
    EXPECT_EQ(bson::to_text(again.index(1).spec),
              bson::to_text(storage::renamed_spec(spec, "test.d")));
    EXPECT_EQ(db_->files().document(again.slot_details(1)->info)["key"].as_doc().field_count(), 3);
    EXPECT_NE(again.index(1).index, nullptr);
    again.check_writable();
    expect_valid();
}

// At level 6 it could not be kept up any more.
TEST_F(DatabaseTest, NoPartialIndexBesideAKindWithoutAMeaning) {
    MmapCollection& c = create("test.c");
    add_index(c, "a", bson::make("a", "text"));
    create("test.d");
    const bson::Object spec = bson::make("v", 1, "key", bson::make("a", 1), "name", "p", "ns",
                                         "test.d", "partialFilterExpression", bson::make("a", 5));
    EXPECT_THROW(db_->find("test.d")->begin_index(spec), base::Error);
    EXPECT_EQ(db_->files().header(0).version_minor, kVersionMinorPlain);
    c.drop_index(0);
    EXPECT_EQ(db_->find("test.d")->begin_index(spec), 0);
}

TEST(UnsupportedIndex, KnowsWhatTheFilesCanHold) {
    const auto spec = [](const char* type) {
        return bson::make("v", 1, "name", "a", "key", bson::make("a", type));
    };
    EXPECT_TRUE(unsupported_index(spec("hashed"), 5).empty());
    EXPECT_TRUE(unsupported_index(spec("text"), 5).empty());
    EXPECT_FALSE(unsupported_index(spec("text"), 6).empty());
    EXPECT_TRUE(unsupported_index(spec("geoHaystack"), 5).empty());
    EXPECT_FALSE(unsupported_index(spec("2dsphere"), 5).empty());
    EXPECT_TRUE(unsupported_index(spec("2dsphere"), 6).empty());
    EXPECT_FALSE(unsupported_index(bson::make("name", "a", "key", bson::make("a", 1)), 5).empty());
    EXPECT_FALSE(unsupported_index(bson::make("v", 1, "key", bson::make("a", 1)), 5).empty());
    EXPECT_FALSE(unsupported_index(bson::make("v", 1, "name", "a"), 5).empty());
    EXPECT_FALSE(
        unsupported_index(bson::make("v", 2, "name", "a", "key", bson::make("a", 1)), 5).empty());
}

TEST_F(DatabaseTest, ARecordIsNotWrittenBeyondItsEnd) {
    MmapRecordStore& records = create("test.a").records();
    const storage::RecordId id = records.insert(doc(1, 10));
    const bson::Object longer = doc(1, 5000);
    EXPECT_THROW(records.overwrite(id, longer), base::Error);
    const std::vector<uint8_t> bytes(100);
    EXPECT_THROW(records.overwrite_range(id, 20, bytes), base::Error);
    EXPECT_THROW(records.overwrite_range(id, -1, {bytes.data(), 1}), base::Error);
    EXPECT_NO_THROW(records.overwrite(id, doc(1, 5)));
}

TEST_F(DatabaseTest, SizesBeyondTheDiskAreRefusedBeforeAnythingIsMade) {
    os::SimFileSystem disk;
    os::StepClock clock;
    DiskRoom room(disk, clock, "db");
    disk.set_free_bytes(uint64_t{100} << 20);
    policy_.room = &room;
    reopen();
    create("test.first");
    const int64_t bytes = db_->files().total_bytes();
    for (const int64_t size : {int64_t{1} << 60, int64_t{1'000'000'000'000'000'000},
                               std::numeric_limits<int64_t>::max(), int64_t{200} << 20}) {
        storage::CollectionOptions extents;
        extents.extent_bytes = {size, size};
        for (const bool capped : {true, false}) {
            try {
                if (capped)
                    create_capped("test.huge", size);
                else
                    create("test.huge", extents);
                ADD_FAILURE() << size;
            } catch (const base::Error& error) {
                EXPECT_EQ(error.code(), base::kOutOfDiskSpace) << error.what();
            }
        }
    }
    EXPECT_EQ(db_->find("test.huge"), nullptr);
    EXPECT_EQ(db_->files().total_bytes(), bytes);
    create_capped("test.fits", 50 << 20);
    expect_valid();
    // Without a disk to ask, the number of files is the limit.
    policy_.room = nullptr;
    reopen();
    EXPECT_THROW(create_capped("test.huge", int64_t{1} << 60), base::Error);
}

}  // namespace
}  // namespace mmapv1
