#include "storage/mmapv1/space/read_ahead.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/mmapv1/mapping/testing/views.h"

namespace mmapv1 {
namespace {

constexpr int32_t kKB = 1 << 10;

struct Asked {
    int64_t offset;
    int64_t bytes;
    int64_t end() const { return offset + bytes; }
    bool operator==(const Asked&) const = default;
};

// Two files of a database, in memory. They note what is asked of them.
class ReadAheadTest : public testing::Test {
  protected:
    ReadAheadTest() {
        views_.asked = [this](const std::string& path, int64_t offset, int64_t bytes) {
            asked_[path].push_back({offset, bytes});
        };
        files_.add_file(0);
        files_.add_file(0);
        ahead_ = std::make_unique<ReadAhead>(&files_);
    }
    // Comes to each place in turn, and looks whether what was asked for before holds it.
    int walk(int32_t from, int32_t step, int times) {
        int held = 0;
        for (int i = 0; i < times; ++i) {
            const int32_t offset = from + i * step;
            for (const Asked& part : asked_["test.0"])
                if (part.offset <= offset && offset < part.end()) {
                    ++held;
                    break;
                }
            ahead_->come_to({0, offset});
        }
        return held;
    }
    int64_t asked_bytes() {
        int64_t sum = 0;
        for (const Asked& part : asked_["test.0"])
            sum += part.bytes;
        return sum;
    }

    TestViews views_;
    DataFiles files_{views_, "test", {.small_files = true}};
    std::unique_ptr<ReadAhead> ahead_;
    std::map<std::string, std::vector<Asked>> asked_;
};

TEST_F(ReadAheadTest, AShortWalkAsksForNothing) {
    walk(64 * kKB, kKB, 32);
    EXPECT_TRUE(asked_["test.0"].empty());
}

TEST_F(ReadAheadTest, AWalkHasWhatItComesToButAtItsBegin) {
    EXPECT_GE(walk(64 * kKB, kKB, 8192), 8192 - 33);
    EXPECT_LE(asked_bytes(), 8192 * kKB + ReadAhead::kAskedBytesMax);
}

TEST_F(ReadAheadTest, NothingIsAskedForTwice) {
    walk(64 * kKB, kKB, 8192);
    const auto& parts = asked_["test.0"];
    ASSERT_GT(parts.size(), 4u);
    for (size_t i = 1; i < parts.size(); ++i)
        EXPECT_EQ(parts[i].offset, parts[i - 1].end());
}

TEST_F(ReadAheadTest, AskingBeginsWithLittleAndEndsWithOneMegabyte) {
    walk(64 * kKB, kKB, 33);
    EXPECT_EQ(asked_["test.0"], std::vector<Asked>({{96 * kKB, 64 * kKB}}));
    walk(97 * kKB, kKB, 8192);
    for (const Asked& part : asked_["test.0"])
        EXPECT_LE(part.bytes, ReadAhead::kAskedBytesMax);
    EXPECT_LE(asked_["test.0"].size(), 30u);
}

TEST_F(ReadAheadTest, AWalkDownwardsToo) {
    EXPECT_GE(walk(9000 * kKB, -kKB, 8192), 8192 - 70);
    for (const Asked& part : asked_["test.0"])
        EXPECT_LE(part.end(), 9000 * kKB);
}

TEST_F(ReadAheadTest, NoOrderAsksForNothing) {
    uint32_t random = 1;
    for (int i = 0; i < 10000; ++i) {
        random = random * 1664525 + 1013904223;
        ahead_->come_to({0, static_cast<int32_t>(random % (14 << 20) / 4 * 4)});
    }
    EXPECT_TRUE(asked_["test.0"].empty());
}

TEST_F(ReadAheadTest, AnotherFileIsAnotherWalk) {
    walk(64 * kKB, kKB, 31);
    for (int i = 31; i < 64; ++i)
        ahead_->come_to({1, (64 + i) * kKB});
    EXPECT_TRUE(asked_["test.0"].empty());
    EXPECT_EQ(asked_["test.1"].size(), 1u);
}

TEST_F(ReadAheadTest, ALongRecordIsNoHole) {
    constexpr int32_t kRecordBytes = 300 * kKB;
    for (int i = 0; i < 20; ++i) {
        const DiskLoc loc{0, 64 * kKB + i * kRecordBytes};
        files_.record(loc).length = kRecordBytes;
        ahead_->come_to(loc);
    }
    EXPECT_GE(asked_bytes(), 15 * kRecordBytes);
    const int64_t before = asked_bytes();
    files_.record({0, 64 * kKB + 19 * kRecordBytes}).length = kKB;
    ahead_->come_to({0, 64 * kKB + 20 * kRecordBytes});
    EXPECT_EQ(asked_bytes(), before);
}

TEST_F(ReadAheadTest, AllOfAPlaceIsAskedForUnlessItWas) {
    ahead_->come_to_all({0, 64 * kKB}, 8 * kKB);
    EXPECT_EQ(asked_["test.0"], std::vector<Asked>({{64 * kKB, 8 * kKB}}));
    for (int i = 1; i < 512; ++i)
        ahead_->come_to_all({0, (64 + 8 * i) * kKB}, 8 * kKB);
    EXPECT_LE(asked_["test.0"].size(), 20u);
    EXPECT_LE(asked_bytes(), 512 * 8 * kKB + ReadAhead::kAskedBytesMax);
}

TEST_F(ReadAheadTest, PlacesThatAreNoneAreLeft) {
    for (int i = 0; i < 200; ++i)
        ahead_->come_to({7, i * kKB});
    for (int i = 0; i < 200; ++i)
        ahead_->come_to({-1, i * kKB});
    for (int i = 0; i < 70; ++i)
        ahead_->come_to({0, INT32_MAX - 70 * kKB + i * kKB});
    ahead_->come_to({0, INT32_MIN});
    ReadAhead(nullptr).come_to({0, 64 * kKB});
    EXPECT_TRUE(asked_["test.1"].empty());
}

TEST_F(ReadAheadTest, NothingIsAskedForWhereTheSystemReadsByItself) {
    TestViews plain;
    DataFiles files(plain, "test", {.small_files = true});
    files.add_file(0);
    ReadAhead ahead(&files);
    EXPECT_FALSE(ahead.is_wanted());
    for (int i = 0; i < 1000; ++i)
        ahead.come_to_all({0, 64 * kKB + i * kKB}, kKB);
    EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace mmapv1
