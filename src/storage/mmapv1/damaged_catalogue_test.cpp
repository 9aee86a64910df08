// Documents of system.indexes and system.namespaces that are damaged: what drops and renames
// collections and indexes changes all of it, or nothing.
#include <functional>
#include <limits>

#include "base/error.h"
#include "storage/mmapv1/testing/database.h"

namespace mmapv1 {
namespace {

constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();

struct Damage {
    const char* name;
    void (*to)(RecordHeader& record, ExtentHeader& extent);
};
const Damage kDamages[] = {
    {"next", [](RecordHeader& record, ExtentHeader&) { record.next_offset = 20; }},
    {"previous", [](RecordHeader& record, ExtentHeader&) { record.prev_offset = kLeast; }},
    {"extent", [](RecordHeader& record, ExtentHeader&) { record.extent_offset = 17; }},
    {"length", [](RecordHeader& record, ExtentHeader&) { record.length = -1; }},
    {"first",
     [](RecordHeader&, ExtentHeader& extent) {
         extent.first_record = {0, 4096};
     }},
    {"last",
     [](RecordHeader&, ExtentHeader& extent) {
         extent.last_record = {0, -1};
     }},
    {"nothing",
     [](RecordHeader&, ExtentHeader& extent) {
         extent.first_record = {-2, 0};
     }},
};

// The damage, and to which of the two.
class DamagedCatalogue : public DatabaseTest,
                         public ::testing::WithParamInterface<std::tuple<Damage, const char*>> {
  protected:
    void SetUp() override {
        DatabaseTest::SetUp();
        MmapCollection& c = create("test.c");
        for (const char* field : {"a", "b", "d"})
            add_index(c, field, bson::make(field, 1));
        c.records().insert(doc(1, 10));
        create("test.other");
        damage();
    }

    void damage() {
        MmapCollection& catalogue = *db_->find(std::get<1>(GetParam()));
        const auto cursor = catalogue.records().cursor(storage::Direction::forward);
        cursor->next();
        const DiskLoc loc = DiskLoc::from(cursor->next()->id);
        RecordHeader& record = db_->files().record(loc);
        ExtentHeader& extent = db_->files().extent(catalogue.details().first_extent);
        views_.declare(&record, sizeof record);
        views_.declare(&extent, sizeof extent);
        std::get<0>(GetParam()).to(record, extent);
    }

    MmapCollection* find(const std::string& ns) { return db_->find(ns); }

    // Returns whether the work was done. Refused work has changed nothing.
    bool done(const std::function<void()>& work) {
        const bool had = find("test.c") != nullptr;
        const int before = had ? find("test.c")->index_count() : 0;
        try {
            work();
            return true;
        } catch (const base::Error&) {
            EXPECT_EQ(find("test.c") != nullptr, had);
            if (had) {
                EXPECT_EQ(find("test.c")->index_count(), before);
            }
            return false;
        }
    }
};

TEST_P(DamagedCatalogue, IndexesAreDroppedOrStay) {
    for (int left = find("test.c")->index_count(); left > 0; --left) {
        EXPECT_TRUE(done([&] { find("test.c")->drop_index(0); }));
        EXPECT_EQ(find("test.c")->index_count(), left - 1);
    }
    done([&] { add_index(*find("test.c"), "again", bson::make("a", 1)); });
    views_.verify_declared();
}

TEST_P(DamagedCatalogue, CollectionsAreRenamedOrStay) {
    if (done([&] { db_->rename_collection("test.c", "test.e", false); })) {
        EXPECT_EQ(find("test.c"), nullptr);
        ASSERT_NE(find("test.e"), nullptr);
        EXPECT_EQ(find("test.e")->index_count(), 3);
        EXPECT_EQ(ids(*find("test.e")), std::vector<int>{1});
        done([&] { db_->rename_collection("test.e", "test.c", false); });
    }
    if (find("test.c") != nullptr) {
        EXPECT_TRUE(done([&] { db_->drop_collection("test.c"); }));
    }
    views_.verify_declared();
}

TEST_P(DamagedCatalogue, CollectionsAreDroppedOrStay) {
    for (const char* ns : {"test.c", "test.other"}) {
        EXPECT_TRUE(done([&] { db_->drop_collection(ns); }));
        EXPECT_EQ(find(ns), nullptr);
        EXPECT_EQ(db_->namespaces().find(ns), nullptr);
    }
    EXPECT_EQ(db_->namespaces().find("test.c.$a"), nullptr);
    done([&] { create("test.c"); });
    views_.verify_declared();
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Damage, const char*>>& info) {
    const std::string ns = std::get<1>(info.param);
    return std::string(std::get<0>(info.param).name) + "_" + ns.substr(ns.rfind('.') + 1);
}

INSTANTIATE_TEST_SUITE_P(Damages, DamagedCatalogue,
                         ::testing::Combine(::testing::ValuesIn(kDamages),
                                            ::testing::Values("test.system.indexes",
                                                              "test.system.namespaces")),
                         name_of);

}  // namespace
}  // namespace mmapv1
