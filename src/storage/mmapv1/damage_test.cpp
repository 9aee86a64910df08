// Damaged namespace and data files: opening, checking and walking them ends, with findings or an
// error, and never with the process.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/damage.h"
#include "base/testing/effort.h"
#include "base/testing/muted.h"
#include "os/testing/directory.h"
#include "os/testing/fixture.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/mapping/private_views.h"

namespace mmapv1 {
namespace {

constexpr int kRecordsWalked = 20000;  // a damaged chain may be a circle

class DamagedFiles : public testing::Test {
  protected:
    DamagedFiles() { os::unpack_fixture("mmapv1-2.6-clean.tar.xz", home_.path()); }

    // Damages a page that has something in it; returns what puts it back.
    void damage_page(const std::string& name) {
        const auto file = files_.open(home_ / name, {.access = os::Access::read_write});
        const uint64_t pages = file->length() / page_.size();
        do {
            offset_ = random_() % pages * page_.size();
            file->read_at(offset_, page_);
        } while (std::all_of(page_.begin(), page_.end(), [](uint8_t b) { return b == 0; }));
        std::vector<uint8_t> damaged = page_;
        base::damage(damaged, random_);
        if (random_() % 4 == 0) base::damage(std::span(damaged).first(64), random_);
        file->write_at(offset_, damaged);
    }
    void put_back(const std::string& name) {
        files_.open(home_ / name, {.access = os::Access::read_write})->write_at(offset_, page_);
    }

    // Whether anything was found to be wrong.
    bool look() {
        bool found = false;
        PrivateViews views(files_, home_.path());
        PaddingSamplers samplers;
        FilePolicy policy;
        try {
            MmapDatabase database(views, "shop", policy, samplers, MmapDatabase::Mode::open);
            check_database(database, {}, [&](const Finding&) { found = true; }, {});
            for (const std::string& ns : database.collections())
                walk(*database.find(ns));
        } catch (const base::Error& e) {
            EXPECT_STRNE(e.what(), "");
            found = true;
        }
        return found;
    }
    void walk(MmapCollection& collection) try {
        const auto cursor = collection.records().cursor(storage::Direction::forward);
        for (int i = 0; i < kRecordsWalked && cursor->next(); ++i) {
        }
    } catch (const base::Error&) {
        // Refused, and said so; the other collections are still examined.
    }

    const base::MutedLog muted_;
    os::TestDirectory home_;
    os::FileSystem& files_ = os::real_file_system();
    std::mt19937 random_{24};
    std::vector<uint8_t> page_ = std::vector<uint8_t>(4096);
    uint64_t offset_ = 0;
};

TEST_F(DamagedFiles, NeverEndTheProcess) {
    ASSERT_FALSE(look()) << "undamaged";
    int noticed = 0;
    const int rounds = base::test_effort(200);
    for (int round = 0; round < rounds; ++round) {
        const char* const name = round % 2 == 0 ? "shop.ns" : "shop.0";
        damage_page(name);
        SCOPED_TRACE(fmt::format("round {}: {} at {:#x}", round, name, offset_));
        noticed += look();
        put_back(name);
    }
    EXPECT_GT(noticed, rounds / 10);
    EXPECT_FALSE(look()) << "put back";
}

}  // namespace
}  // namespace mmapv1
