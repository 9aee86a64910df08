// A file of entries over the copy of a member's data, over each engine.
#include "oplog/replay.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "catalog/testing/each_engine.h"
#include "oplog/log.h"

namespace oplog {
namespace {

using base::failure;

constexpr uint64_t kSecond = uint64_t{1} << 32;
constexpr int64_t kMillis = 1000;

bson::Object entry(uint64_t ts, int64_t hash, const char* more) {
    bson::Builder out;
    out.append_timestamp("ts", ts).append("t", int64_t{1}).append("h", hash);
    out.append_date("wall", static_cast<int64_t>(ts >> 32) * kMillis + 500);
    out.append_all(bson::parse_test_json(more));
    return out.object();
}

bson::Object inserted(uint64_t ts, int id) {
    return entry(ts, static_cast<int64_t>(ts),
                 fmt::format(R"({{"op": "i", "ns": "test.c", "o": {{"_id": {}}}}})", id).c_str());
}

class ReplayTest : public catalog::OverEachEngine {
  protected:
    // A copy that ends with the entry of the tenth second.
    void SetUp() override {
        const storage::GlobalLock lock(engine_->locks(), storage::GlobalMode::W);
        catalog_->collection_for_write("test.c");
        catalog_->collection_for_write(kSetLog).insert(inserted(10 * kSecond, 0));
        for (int i = 8; i < 20; ++i)
            add(inserted(i * kSecond, i));
    }
    void add(bson::Doc each) {
        const auto bytes = each.bytes();
        file_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    // Returns the text of what it throws.
    std::string play(const ReplayEnd& end = {}) {
        std::istringstream in(file_);
        Replay replay(
            *catalog_, [](std::string_view, bson::Doc) {}, in, end);
        try {
            replay.find_begin();
            replay.play([] {});
        } catch (const base::Error& error) {
            return error.what();
        }
        last_ = replay.last().ts;
        return {};
    }
    int64_t count() {
        const storage::DatabaseLock lock(engine_->locks(), "test", false);
        return catalog_->collection("test.c")->records().count();
    }

    std::string file_;
    uint64_t last_ = 0;
};

TEST_P(ReplayTest, AppliesWhatIsBehindTheCopy) {
    EXPECT_EQ(play(), "");
    EXPECT_EQ(count(), 9);
    EXPECT_EQ(last_, 19 * kSecond);
}

TEST_P(ReplayTest, EndsAtATimeOrADate) {
    EXPECT_EQ(play({.ts = 12 * kSecond}), "");
    EXPECT_EQ(count(), 2);
    EXPECT_EQ(last_, 12 * kSecond);
}

TEST_P(ReplayTest, EndsBetweenTwoEntries) {
    EXPECT_EQ(play({.wall_ms = 15499}), "");
    EXPECT_EQ(count(), 4);
    EXPECT_EQ(last_, 14 * kSecond);
}

TEST_P(ReplayTest, EndsWithTheLastEntryOrTheCopysOwn) {
    EXPECT_EQ(play({.wall_ms = 10500}), "");
    EXPECT_EQ(count(), 0);
    EXPECT_EQ(play({.ts = 19 * kSecond}), "");
    EXPECT_EQ(count(), 9);
}

TEST_P(ReplayTest, RefusesWhatDoesNotLeadThere) {
    EXPECT_TRUE(play({.ts = 10 * kSecond - 1}).starts_with("the copy ends with 10:0, behind"));
    EXPECT_TRUE(play({.ts = 20 * kSecond}).starts_with("the log ends with 19:0, before the time"));
    file_.clear();
    EXPECT_EQ(play(), "the log has no entry; the end of the copy is 10:0");
    add(inserted(9 * kSecond, 9));
    EXPECT_EQ(play(), "the log ends with 9:0, before the end of the copy, 10:0");
    add(entry(10 * kSecond, 77, R"({"op": "n", "ns": "", "o": {}})"));
    EXPECT_TRUE(play().starts_with("the log does not have the entry at the end of the copy, 10:0"));
    file_.clear();
    add(inserted(11 * kSecond, 11));
    EXPECT_EQ(play(),
              "the log does not reach back to the end of the copy, 10:0: it begins with 11:0");
}

TEST_P(ReplayTest, RefusesAFileThatIsNone) {
    const std::string whole = file_;
    file_.resize(file_.size() - 1);
    EXPECT_EQ(play(), "the file ends within the entry behind 18:0");
    EXPECT_EQ(count(), 8);
    file_ = whole.substr(0, whole.size() / 12) + "\x01";
    EXPECT_EQ(play(), "behind 8:0 the file has no entry of a log");
    file_.clear();
    for (int i : {10, 20, 19})
        add(inserted(i * kSecond, i));
    EXPECT_EQ(play(), "the log is out of order: 19:0 stands behind 20:0");
}

TEST(ReplayEndTest, IsReadFromText) {
    EXPECT_EQ(read_replay_end("5:7"), ReplayEnd{.ts = 5 * kSecond + 7});
    EXPECT_EQ(read_replay_end("1970-01-01T00:00:02.5Z"), ReplayEnd{.wall_ms = 2500});
    EXPECT_EQ(read_replay_end("1970-01-01T01:00:02+01:00"), ReplayEnd{.wall_ms = 2000});
    EXPECT_EQ(read_replay_end("1970-01-01T00:00:02"), ReplayEnd{.wall_ms = 2000});
    for (const char* bad : {"", "5", "5:", ":7", "5:7x", "5:4294967296", "soon"})
        EXPECT_NE(failure([&] { read_replay_end(bad); }), 0) << bad;
}

INSTANTIATE_TEST_SUITE_P(engines, ReplayTest, catalog::kTestEngines, catalog::engine_name);

}  // namespace
}  // namespace oplog
