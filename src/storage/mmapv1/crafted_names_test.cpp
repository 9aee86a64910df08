// Namespace files and listings that were crafted: entries with the name of something else, entries
// without a collection, or entries that are listed in a way no server lists them.
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

class CraftedNames : public DatabaseTest {
  protected:
    MmapCollection& of(const std::string& ns) { return *db_->find(ns); }
    void fill(const std::string& ns, int count, size_t pad) {
        for (int i = 0; i < count; ++i)
            of(ns).records().insert(doc(i, pad));
    }
    NamespaceDetails& add_entry(const std::string& ns) {
        NamespaceDetails& d = db_->namespaces().add(ns).details;
        NamespaceIndex::init_details(d);
        return d;
    }
    void lead(const std::string& ns, DiskLoc extent) {
        NamespaceDetails& d = views_.writing(details(ns));
        d.first_extent = d.last_extent = extent;
    }
    MmapRecordStore& listing() { return of("test.system.namespaces").records(); }
};

// An operation that goes through the collections of a database continues by their names, and would
// apply to another database what is meant for this one.
TEST_F(CraftedNames, ACollectionOfAnotherDatabase) {
    create("test.a");
    fill("test.a", 3, 100);
    for (const char* ns : {"other.c", "testa.c", "tes.c", "test", "test.", "x"}) {
        add_entry(ns);
        listing().insert(bson::make("name", ns));
    }
    reopen();
    EXPECT_EQ(db_->collections(), (std::vector<std::string>{"test.system.namespaces", "test.a"}));
    EXPECT_EQ(db_->find("other.c"), nullptr);
    fill("test.a", 100, 3000);
    EXPECT_EQ(ids(of("test.a")).size(), 103U);
}

// Dropping them by this list would meet the same one again.
TEST_F(CraftedNames, ACollectionThatIsListedTwice) {
    create("test.a");
    listing().insert(bson::make("name", "test.a", "options", bson::make("temp", true)));
    reopen();
    EXPECT_EQ(db_->collections(), (std::vector<std::string>{"test.system.namespaces", "test.a"}));
    EXPECT_TRUE(of("test.a").options()["temp"].truthy());
    db_->drop_collection("test.a");
    EXPECT_EQ(db_->collections(), (std::vector<std::string>{"test.system.namespaces"}));
}

// Kept in memory.
TEST_F(CraftedNames, ANameThatNoNamespaceHas) {
    create("test.a");
    listing().insert(bson::make("name", std::string(128, 'x')));
    reopen();
    EXPECT_FALSE(db_->is_listed(std::string(128, 'x')));
    EXPECT_TRUE(db_->is_listed("test.a"));
}

// An entry that no collection had when the database was opened has no owner, and is not taken over
// by a new collection of that name: it says where the next records go.
TEST_F(CraftedNames, AnEntryWithoutACollection) {
    create("test.victim");
    fill("test.victim", 3, 100);
    add_entry("test.a.$x");
    lead("test.a.$x", details("test.victim").first_extent);
    details("test.a.$x").deleted_list[kDeletedLists - 1] =
        details("test.victim").deleted_list[deleted_list_of(4096)];
    reopen();
    create("test.a");
    EXPECT_THROW(add_index(of("test.a"), "x", bson::make("x", 1)), base::Error);
    EXPECT_EQ(of("test.a").index_count(), 0);
    EXPECT_FALSE(db_->is_listed("test.a.$x"));
    EXPECT_EQ(add_index(of("test.a"), "y", bson::make("y", 1)), 0);
    EXPECT_EQ(ids(of("test.victim")), (std::vector<int>{0, 1, 2}));
    add_index(create("test.b"), "x", bson::make("x", 1));
    db_->drop_collection("test.a");
    EXPECT_THROW(db_->rename_collection("test.b", "test.a", false), base::Error);
    reopen();
    EXPECT_EQ(of("test.b").index(0).name, "x");
    EXPECT_EQ(db_->find("test.a"), nullptr);
}

// After it the whole database could not be opened.
TEST_F(CraftedNames, ABlockWithoutAnEntry) {
    add_entry("test.a$extra");
    create("test.a");
    for (int i = 0; i < 10; ++i)
        add_index(of("test.a"), "x" + std::to_string(i), bson::make("x", 1));
    EXPECT_THROW(add_index(of("test.a"), "x10", bson::make("x", 1)), base::Error);
    reopen();
    EXPECT_EQ(of("test.a").index_count(), 10);
}

// The master's operation log is called as an index of local.oplog would be, and is no less
// protected.
TEST_F(CraftedNames, TheOperationLogInTheExtentsOfAnother) {
    for (const bool by_index : {false, true}) {
        make_local();
        create("local.victim");
        fill("local.victim", 3, 100);
        add_index(create("local.oplog.$main"), "x", bson::make("x", 1));
        lead(by_index ? "local.oplog.$main.$x" : "local.oplog.$main",
             details("local.victim").first_extent);
        reopen();
        for (const char* ns : {"local.victim", "local.oplog.$main"})
            EXPECT_THROW(of(ns).check_writable(), base::Error) << ns;
        EXPECT_EQ(ids(of("local.victim")).size(), 3U);
        if (by_index) db_->repair();
        EXPECT_EQ(ids(of("local.victim")).size(), 3U);
        for (const char* ns : {"local.victim", "local.oplog.$main"})
            EXPECT_THROW(of(ns).check_writable(), base::Error) << ns;
        for (const char* file : {"local.ns", "local.0"})
            views_.remove(file);
    }
}

}  // namespace
}  // namespace mmapv1
