// Extents that two namespaces share, wholly or in part: both are read and neither is written, so
// that what is written for others spoils nothing. The check of a whole database says which they
// are.
#include <gtest/gtest.h>

#include "base/error.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

class SharedExtentsTest : public DatabaseTest {
  protected:
    // Returns what dbpath_check finds about the one namespace.
    std::string found_about(const std::string& ns) {
        std::string text;
        check_database(*db_, {},
                       [&](const Finding& finding) {
                           if (finding.severity == Severity::error && finding.ns == ns)
                               text += finding.text + "\n";
                       },
                       {});
        return text;
    }
    void fill(const std::string& ns, int count, size_t pad) {
        MmapCollection& collection = create(ns);
        for (int i = 0; i < count; ++i)
            collection.records().insert(doc(i, pad));
    }
    // Every way to write to a collection, and to take it away.
    void expect_refused(const std::string& ns) {
        MmapCollection& collection = *db_->find(ns);
        EXPECT_THROW(collection.check_writable(), base::Error) << ns;
        EXPECT_THROW(collection.records().insert(doc(99, 10)), base::Error) << ns;
        EXPECT_THROW(db_->drop_collection(ns), base::Error) << ns;
        EXPECT_THROW(db_->rename_collection(ns, "test.z", false), base::Error) << ns;
    }
    // A header that looks right, among the bytes of a document of that collection.
    DiskLoc forge_inside(const std::string& outer) {
        const DiskLoc first = details(outer).first_extent;
        const DiskLoc inside{first.file, first.offset + 1024};
        ExtentHeader& forged = views_.writing(db_->files().extent(inside));
        forged = db_->files().extent(first);
        forged.my_loc = inside;
        forged.length = kMinExtentBytes;
        forged.first_record = forged.last_record = DiskLoc::null();
        return inside;
    }
    void lead(const std::string& ns, DiskLoc extent) {
        NamespaceDetails& d = views_.writing(details(ns));
        d.first_extent = d.last_extent = extent;
    }
};

TEST_F(SharedExtentsTest, AnExtentOfTwoCollections) {
    for (const char* ns : {"test.a", "test.b", "test.c"})
        fill(ns, 3, 100);
    lead("test.b", details("test.a").first_extent);
    EXPECT_NE(found_about("test.b").find("belongs to test.a too"), std::string::npos);
    reopen();
    const std::vector<int> all = {0, 1, 2};
    expect_refused("test.a");
    expect_refused("test.b");
    for (int i = 3; i < 100; ++i)
        db_->find("test.c")->records().insert(doc(i, 3000));
    db_->drop_collection("test.c");
    fill("test.d", 100, 3000);
    EXPECT_EQ(ids(*db_->find("test.a")), all);
    EXPECT_EQ(ids(*db_->find("test.b")), all);
    views_.verify_declared();
}

TEST_F(SharedExtentsTest, AnExtentInsideOfAnother) {
    fill("test.a", 1, 2000);
    fill("test.b", 1, 100);
    lead("test.b", forge_inside("test.a"));
    EXPECT_NE(found_about("test.b").find("overlaps the one before it"), std::string::npos);
    reopen();
    expect_refused("test.a");
    expect_refused("test.b");
}

TEST_F(SharedExtentsTest, AnIndexInACollection) {
    fill("test.a", 3, 100);
    fill("test.b", 3, 100);
    add_index(*db_->find("test.b"), "x", bson::make("x", 1));
    lead("test.b.$x", details("test.a").first_extent);
    reopen();
    expect_refused("test.a");
    expect_refused("test.b");
    EXPECT_EQ(ids(*db_->find("test.a")).size(), 3U);
}

// The namespace that is dropped is the one that only links there.
TEST_F(SharedExtentsTest, ARepairKeepsTheNameThatTheExtentHas) {
    fill("test.b", 3, 100);
    for (const char* ns : {"test.a", "test.c"})
        fill(ns, 5, 100);
    for (const char* ns : {"test.a", "test.b", "test.c"})
        add_index(*db_->find(ns), "x", bson::make("x", 1));
    for (const char* ns : {"test.a", "test.c"})
        lead(ns, details("test.b").first_extent);
    reopen();
    db_->repair();
    EXPECT_EQ(db_->find("test.a"), nullptr);
    EXPECT_EQ(db_->find("test.c"), nullptr);
    ASSERT_NE(db_->find("test.b"), nullptr);
    EXPECT_EQ(ids(*db_->find("test.b")), (std::vector<int>{0, 1, 2}));
    db_->find("test.b")->records().insert(doc(3, 100));
}

TEST_F(SharedExtentsTest, AFreeExtentThatIsInUse) {
    fill("test.a", 3, 100);
    fill("test.b", 3, 100);
    const DiskLoc used = details("test.a").first_extent;
    DataFileHeader& header = views_.writing(db_->files().header(0));
    header.free_list_start = header.free_list_end = used;
    reopen();
    fill("test.c", 100, 3000);
    db_->find("test.b")->records().insert(doc(7, 100));
    EXPECT_EQ(ids(*db_->find("test.a")), (std::vector<int>{0, 1, 2}));
    expect_refused("test.a");
    views_.verify_declared();
}

TEST_F(SharedExtentsTest, AChainThatRunsInACircle) {
    fill("test.a", 3, 100);
    fill("test.b", 3, 100);
    const DiskLoc first = details("test.a").first_extent;
    views_.writing(db_->files().extent(first)).next = first;
    reopen();
    expect_refused("test.a");
    db_->find("test.b")->records().insert(doc(7, 100));
}

TEST_F(SharedExtentsTest, ExtentsSideBySideAreNoFinding) {
    for (const char* ns : {"test.a", "test.b", "test.c"})
        fill(ns, 100, 3000);
    db_->drop_collection("test.b");
    reopen();
    db_->find("test.a")->records().insert(doc(200, 100));
    fill("test.b", 100, 3000);
    expect_valid();
}

}  // namespace
}  // namespace mmapv1
