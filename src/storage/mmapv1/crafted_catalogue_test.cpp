// Namespace files, catalogues and headers that were crafted: what they say of one collection does
// not harm the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

class CraftedCatalogue : public DatabaseTest {
  protected:
    NamespaceDetails& change(const std::string& ns) { return views_.writing(details(ns)); }
    MmapCollection& of(const std::string& ns) { return *db_->find(ns); }
    void fill(const std::string& ns, int count, size_t pad) {
        for (int i = 0; i < count; ++i)
            of(ns).records().insert(doc(i, pad));
    }
    // "test.a" and "test.b", each with an index x_1.
    void make_two() {
        for (const char* ns : {"test.a", "test.b"})
            add_index(create(ns), "x_1", bson::make("x", 1, "y", -1));
    }
    DiskLoc definition_of(const std::string& ns) { return of(ns).slot_details(0)->info; }
    // A capped collection is one from now on, empty or not.
    void make_ring(const std::string& ns) {
        NamespaceDetails& d = change(ns);
        d.is_capped = 1;
        d.max_documents = 4;
        d.cap_extent = d.first_extent;
        d.cap_first_new = DiskLoc::invalid();
        DiskLoc free = DiskLoc::null();
        for (DiskLoc& head : d.deleted_list) {
            if (head.is_valid()) free = head;
            head = DiskLoc::null();
        }
        d.deleted_list[0] = free;
        d.deleted_list[1] = DiskLoc::invalid();
    }
};

TEST_F(CraftedCatalogue, CollectionsWithoutAListing) {
    add_index(create("test.a"), "x_1", bson::make("x", 1));
    NamespaceSlot& slot = *db_->namespaces().find("test.system.namespaces");
    views_.declare(&slot, sizeof slot);
    db_->namespaces().erase(slot);
    reopen();
    add_index(of("test.a"), "y_1", bson::make("y", 1));
    EXPECT_TRUE(db_->is_listed("test.a.$y_1"));
    db_->rename_collection("test.a", "test.b", false);
    EXPECT_EQ(of("test.b").index_count(), 2);
}

// A document written about one collection would take the place of one that is there about others.
TEST_F(CraftedCatalogue, ACatalogueThatIsCapped) {
    for (const char* catalogue : {"test.system.indexes", "test.system.namespaces"}) {
        make_two();
        make_ring(catalogue);
        reopen();
        EXPECT_THROW(add_index(of("test.a"), "y_1", bson::make("y", 1)), base::Error);
        fill("test.a", 3, 100);
        reopen();
        for (const char* ns : {"test.a", "test.b"}) {
            EXPECT_TRUE(db_->is_listed(ns));
            EXPECT_EQ(of(ns).index(0).name, "x_1");
        }
        TearDown();
        views_.remove("test.0");
        SetUp();
    }
}

TEST_F(CraftedCatalogue, TheDefinitionOfAnother) {
    make_two();
    views_.writing(*of("test.a").slot_details(0)).info = definition_of("test.b");
    reopen();
    const bson::Object before(db_->files().document(definition_of("test.b")));
    const auto unchanged = [&] {
        return std::ranges::equal(db_->files().document(definition_of("test.b")).bytes(),
                                  before.bytes());
    };
    const bson::Object changed = bson::Builder().append_all(before).append("t", 5).object();
    for (const bson::Object& spec : {before, changed})
        EXPECT_THROW(of("test.a").replace_index_spec(0, spec), base::Error);
    EXPECT_TRUE(unchanged());
    db_->rename_collection("test.a", "test.z", false);
    EXPECT_TRUE(unchanged());
    views_.writing(*of("test.z").slot_details(0)).info = definition_of("test.b");
    reopen();
    db_->drop_collection("test.z");
    EXPECT_TRUE(unchanged());
    reopen();
    EXPECT_EQ(of("test.b").index(0).name, "x_1");
}

// Readers of a definition keep pointers into it.
TEST_F(CraftedCatalogue, ADefinitionThatAClientChanges) {
    make_two();
    const bson::Object definition(db_->files().document(definition_of("test.a")));
    const storage::RecordId id = of("test.b").records().insert(definition);
    views_.writing(*of("test.a").slot_details(0)).info = DiskLoc::from(id);
    reopen();
    const storage::IndexEntry entry = of("test.a").index(0);
    const bson::Doc pattern = entry.spec["key"].as_doc();
    of("test.b").records().overwrite(id, doc(1, static_cast<size_t>(definition.size()) - 30));
    EXPECT_EQ(pattern.field_count(), 2);
    EXPECT_TRUE(std::ranges::equal(entry.spec.bytes(), definition.bytes()));
    EXPECT_TRUE(std::ranges::equal(of("test.a").index(0).spec.bytes(), definition.bytes()));
    of("test.a").drop_index(0);
    EXPECT_EQ(ids(of("test.b")).size(), 1U);
}

// Kept in memory for each.
TEST_F(CraftedCatalogue, OneLargeDefinitionForAll) {
    constexpr int kIndexes = 20;
    create("test.a");
    const bson::Object large = bson::make("v", 1, "key", bson::make("x", 1), "name", "i", "ns",
                                          "test.a", "pad", std::string(15 << 20, 'x'));
    const DiskLoc info = DiskLoc::from(of("test.a").records().insert(large));
    for (int i = 0; i < kIndexes; ++i) {
        const std::string ns = "test.c" + std::to_string(i);
        create(ns);
        NamespaceIndex::init_details(db_->namespaces().add(ns + ".$i").details);
        NamespaceDetails& d = change(ns);
        d.index_count = 1;
        d.indexes[0] = {DiskLoc::null(), info};
    }
    EXPECT_THROW(reopen(), base::Error);
}

// Space is set aside by it.
TEST_F(CraftedCatalogue, ACountOfBucketsThatLies) {
    make_two();
    const int64_t before = db_->files().total_bytes();
    for (const int64_t count : {INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{INT32_MIN} - 20}) {
        change("test.a.$x_1").record_count = count;
        storage::SortedIndex& index = *of("test.a").index(0).index;
        index.reserve(10, 1000);
        EXPECT_GE(index.insertion_bytes(10, 1000), 0);
        EXPECT_GE(index.storage_bytes(), 0);
        EXPECT_EQ(db_->files().total_bytes(), before) << count;
    }
}

// A client's definitions must not prevent the next start.
TEST_F(CraftedCatalogue, ManyLargeDefinitions) {
    create("test.a");
    fill("test.a", 1, 100);
    const std::string pad(15 << 20, 'x');
    const auto add = [&](const std::string& ns, int i) {
        MmapCollection& c = of(ns);
        const std::string name = "x" + std::to_string(i);
        c.finish_index(c.begin_index(
            bson::make("v", 1, "key", bson::make("x", 1), "name", name, "ns", ns, "pad", pad)));
    };
    int made = 0;
    const auto fill_up = [&] {
        for (; made < 20; ++made)
            add("test.a", made);
    };
    EXPECT_THROW(fill_up(), base::Error);
    EXPECT_GE(made, 10);
    db_->rename_collection("test.a", "test." + std::string(50, 'a'), false);
    reopen();
    EXPECT_EQ(of("test." + std::string(50, 'a')).index_count(), made);
    create("test.b");
    EXPECT_THROW(add("test.b", 1), base::Error);
    add_index(of("test.b"), "x_1", bson::make("x", 1));
    of("test." + std::string(50, 'a')).drop_index(0);
    add("test.b", 1);
}

TEST_F(CraftedCatalogue, AnOddTail) {
    create("test.a");
    DataFileHeader& header = views_.writing(db_->files().header(0));
    header.unused.offset += 3;
    header.unused_length -= 3;
    EXPECT_THROW(reopen(), base::Error);
}

TEST_F(CraftedCatalogue, AnOddFreeExtent) {
    create("test.gone");
    db_->drop_collection("test.gone");
    views_.writing(db_->files().extent(db_->files().header(0).free_list_start)).length -= 3;
    reopen();
    create("test.a");
    fill("test.a", 100, 1000);
    EXPECT_EQ(ids(of("test.a")).size(), 100U);
}

// Others than those whose list it is look there for space.
TEST_F(CraftedCatalogue, ABrokenListOfFreeExtents) {
    create("test.a");
    create("test.gone");
    db_->drop_collection("test.gone");
    views_.writing(db_->files().extent(db_->files().header(0).free_list_start)).magic = 1;
    reopen();
    fill("test.a", 1000, 1000);
    EXPECT_EQ(ids(of("test.a")).size(), 1000U);
}

// Each of them is walked once, so that memory and time are those of the files and not their square.
TEST_F(CraftedCatalogue, ManyEntriesThatLeadIntoOneChain) {
    constexpr int kExtents = 1000;
    constexpr int kEntries = 1000;
    storage::CollectionOptions options;
    options.extent_bytes.assign(kExtents, 4096);
    create("test.a", options);
    create("test.b");
    fill("test.b", 1, 100);
    for (int i = 0; i < kEntries; ++i) {
        NamespaceDetails& d = db_->namespaces().add("test.c" + std::to_string(i)).details;
        NamespaceIndex::init_details(d);
        d.first_extent = details("test.a").first_extent;
        d.last_extent = details("test.a").last_extent;
    }
    reopen();
    const int64_t most = db_->files().total_bytes() / kMinExtentBytes;
    int64_t kept = 0;
    for (const std::string& ns : {std::string("test.a"), std::string("test.c7")})
        EXPECT_THROW(of(ns).records().insert(doc(1, 10)), base::Error) << ns;
    for (int i = 0; i < kEntries; ++i)
        kept += of("test.c" + std::to_string(i)).storage().own_extents();
    EXPECT_LE(kept, 2 * most);
    fill("test.b", 1000, 1000);
    EXPECT_EQ(ids(of("test.b")).size(), 1001U);
}

// The master's operation log is called as an index "main" of local.oplog would be, and its indexes
// as others of its indexes.
TEST_F(CraftedCatalogue, AnIndexWithTheNameOfAnIndexOfTheOperationLog) {
    make_local();
    create("local.oplog");
    add_index(create("local.oplog.$main"), "x", bson::make("x", 1));
    for (const char* name : {"main", "main.$x", "main$extra", "main.$y"})
        EXPECT_THROW(add_index(of("local.oplog"), name, bson::make("x", 1)), base::Error) << name;
    add_index(of("local.oplog"), "mainly", bson::make("x", 1));
    EXPECT_EQ(of("local.oplog.$main").index_count(), 1);
    create("local.c");
    add_index(of("local.c"), "main.$x", bson::make("x", 1));
    db_->drop_collection("local.oplog");
    EXPECT_THROW(db_->rename_collection("local.c", "local.oplog", false), base::Error);
    reopen();
    EXPECT_EQ(of("local.oplog.$main").index(0).name, "x");
    expect_valid();
}

TEST_F(CraftedCatalogue, TwoIndexesWithOneName) {
    make_local();
    add_index(create("local.oplog.$main"), "x", bson::make("x", 1));
    MmapCollection& c = create("local.oplog");
    add_index(c, "mine.$x", bson::make("x", 1));
    const DiskLoc info = c.slot_details(0)->info;
    const std::string_view name = db_->files().document(info)["name"].as_string();
    uint8_t* text =
        at(info.offset) + (name.data() - reinterpret_cast<const char*>(at(info.offset)));
    views_.declare(text, 4);
    std::ranges::copy(std::string_view("main"), text);
    reopen();
    for (const char* ns : {"local.oplog", "local.oplog.$main"})
        EXPECT_THROW(of(ns).records().insert(doc(1, 100)), base::Error) << ns;
}

// Not even the operation log's are taken for namespaces of indexes.
TEST_F(CraftedCatalogue, BlocksOfFurtherIndexes) {
    make_local();
    create("local.oplog.$main");
    for (int i = 0; i < 45; ++i)
        add_index(of("local.oplog.$main"), "x" + std::to_string(i), bson::make("x", 1));
    expect_valid();
    EXPECT_EQ(db_->internal_namespace("local.oplog.$main$extra"), nullptr);
    EXPECT_NE(db_->internal_namespace("local.oplog.$main.$x7"), nullptr);
    reopen();
    EXPECT_EQ(of("local.oplog.$main").index_count(), 45);
    expect_valid();
}

}  // namespace
}  // namespace mmapv1
