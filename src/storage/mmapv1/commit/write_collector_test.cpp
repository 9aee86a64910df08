// Write intents: spool, merging, cache, byte accounting (journal spec 1.2).

#include "storage/mmapv1/commit/write_collector.h"

#include <gtest/gtest.h>

#include <thread>

namespace mmapv1 {
namespace {

class WriteCollectorTest : public testing::Test {
  protected:
    void declare(size_t offset, uint32_t length) { collector.declare(memory + offset, length); }
    // Offsets and lengths of the intents handed in so far.
    std::vector<std::pair<size_t, uint32_t>> taken() {
        std::vector<std::pair<size_t, uint32_t>> result;
        for (const WriteIntent& intent : collector.take_job().intents)
            result.emplace_back(intent.start - memory, intent.length);
        collector.end_job();
        return result;
    }
    using Intents = std::vector<std::pair<size_t, uint32_t>>;

    alignas(4096) static inline uint8_t memory[1 << 20];
    CommitLatch latch;
    WriteCollector collector{latch};
};

TEST_F(WriteCollectorTest, DeclaringMarksAtOnceAndCollectsAtTheUnlock) {
    EXPECT_FALSE(collector.has_written());
    declare(100, 4);
    EXPECT_TRUE(collector.has_written());
    collector.unspool();
    EXPECT_EQ(taken(), (Intents{{100, 4}}));
    EXPECT_FALSE(collector.has_written());
    EXPECT_EQ(taken(), Intents{});
}

TEST_F(WriteCollectorTest, AFullSpoolMergesBeforeItIsHandedIn) {
    // 21 entries that touch each other become one, so the spool has room again.
    for (size_t i = 0; i < 22; ++i)
        declare(1000 + i * 10, 10);
    EXPECT_EQ(collector.uncommitted_bytes(), 0u) << "nothing handed in yet";
    collector.unspool();
    EXPECT_EQ(taken(), (Intents{{1000, 210}, {1210, 10}}));
}

TEST_F(WriteCollectorTest, AFullSpoolThatCannotMergeIsHandedIn) {
    for (size_t i = 0; i < 22; ++i)
        declare(i * 100, 10);
    EXPECT_EQ(taken().size(), 21u);
    collector.unspool();
    EXPECT_EQ(taken(), (Intents{{2100, 10}}));
}

// Holds J20. Declarations side by side are one entry of a spool that is never full.
TEST_F(WriteCollectorTest, ASpoolThatMergesHidesLittle) {
    constexpr uint32_t kPiece = 16 << 10;
    for (size_t end = kPiece; end <= sizeof memory; end += kPiece) {
        declare(end - kPiece, kPiece);
        ASSERT_LE(end - collector.changed_bytes(),
                  WriteCollector::kSpoolBytes + WriteCollector::kSpoolEntries * kPiece);
    }
    collector.unspool();
    EXPECT_EQ(collector.changed_bytes(), sizeof memory);
}

TEST_F(WriteCollectorTest, TheSameStartAgainIsDroppedUnlessLonger) {
    declare(64, 16);
    collector.unspool();
    declare(64, 16);
    declare(64, 8);
    declare(64, 32);
    collector.unspool();
    EXPECT_EQ(taken(), (Intents{{64, 16}, {64, 32}}));
    declare(64, 16);
    collector.unspool();
    EXPECT_EQ(taken(), (Intents{{64, 16}})) << "a new job knows nothing";
}

TEST_F(WriteCollectorTest, BytesAreCountedByPages) {
    const auto counted = [&](size_t offset, uint32_t length) {
        const uint64_t before = collector.uncommitted_bytes();
        declare(offset, length);
        collector.unspool();
        return collector.uncommitted_bytes() - before;
    };
    EXPECT_EQ(counted(10 * 4096, 1), 4096u);
    EXPECT_EQ(counted(10 * 4096 + 50, 100), 0u) << "same page as the one before";
    EXPECT_EQ(counted(11 * 4096, 4097), 8192u);
    EXPECT_EQ(counted(10 * 4096 + 70, 1), 4096u) << "another page than the one before";
    EXPECT_EQ(counted(10 * 4096 + 72, 20480), 16384u) << "of a long one what lies behind that page";
    EXPECT_EQ(taken().size(), 5u);
    EXPECT_EQ(collector.uncommitted_bytes(), 0u);
    EXPECT_EQ(counted(10 * 4096 + 80, 1), 0u) << "the page is remembered across commits";
}

TEST_F(WriteCollectorTest, ManyIntentsAreNotKeptBeyondTheirCommit) {
    std::vector<uint8_t> much((2 * WriteCollector::kKeptIntentsMax + 2) * 2);
    for (size_t at = 0; at < much.size(); at += 2)
        collector.declare(much.data() + at, 1);
    collector.unspool();
    const CommitJob& job = collector.take_job();
    EXPECT_GT(job.intents.capacity(), WriteCollector::kKeptIntentsMax);
    declare(64, 16);
    collector.unspool();
    collector.end_job();
    EXPECT_TRUE(job.empty());
    EXPECT_EQ(job.intents.capacity(), 0u);
    EXPECT_EQ(taken(), (Intents{{64, 16}})) << "what came in between stays";
}

// Holds J15.
TEST_F(WriteCollectorTest, CreatedFilesKeepTheirOrder) {
    collector.note_created("test.ns", 100);
    collector.note_created("test.0", 200);
    EXPECT_TRUE(collector.has_written());
    const CommitJob& job = collector.take_job();
    ASSERT_EQ(job.created.size(), 2u);
    EXPECT_EQ(job.created[0].path, "test.ns");
    EXPECT_EQ(job.created[1].length, 200);
}

TEST_F(WriteCollectorTest, AWriterThatEndsWaitsForTheRunningCommit) {
    std::atomic<bool> handed_in{false};
    std::unique_lock held(latch);
    std::thread writer([&] {
        declare(0, 1);
        collector.unspool();
        handed_in = true;
    });
    while (!collector.has_written())
        std::this_thread::yield();
    EXPECT_EQ(taken().size(), 0u);
    EXPECT_FALSE(handed_in);
    held.unlock();
    writer.join();
    EXPECT_EQ(taken().size(), 1u);
}

TEST(MergeForJournal, SortsByEndAndMergesOverlaps) {
    static uint8_t memory[1000];
    const auto merged = [](std::vector<std::pair<int, uint32_t>> ranges) {
        std::vector<WriteIntent> intents;
        for (const auto& [offset, length] : ranges)
            intents.push_back({memory + offset, length});
        merge_for_journal(intents);
        std::vector<std::pair<int, uint32_t>> result;
        for (const WriteIntent& intent : intents)
            result.emplace_back(intent.start - memory, intent.length);
        return result;
    };
    using Ranges = std::vector<std::pair<int, uint32_t>>;
    EXPECT_EQ(merged({}), Ranges{});
    EXPECT_EQ(merged({{50, 5}, {10, 5}}), (Ranges{{10, 5}, {50, 5}}));
    EXPECT_EQ(merged({{10, 10}, {15, 10}}), (Ranges{{10, 15}}));
    EXPECT_EQ(merged({{10, 10}, {20, 10}}), (Ranges{{10, 10}, {20, 10}})) << "touching stays";
    EXPECT_EQ(merged({{10, 30}, {15, 5}}), (Ranges{{10, 30}}));
    // The range that ends last begins first: what is inside an emitted one comes twice.
    EXPECT_EQ(merged({{0, 100}, {10, 5}, {30, 5}}), (Ranges{{10, 5}, {0, 100}}));
}

// Holds J20.
TEST_F(WriteCollectorTest, ManyDeclarationsOfTheSameBytesAreCountedOnce) {
    constexpr uint32_t kHalf = sizeof memory / 2;
    // 600 MB in overlapping pieces of one megabyte: the cache knows none of them again.
    for (size_t i = 0; i < 1200; ++i) {
        declare(i * 331 % kHalf, kHalf);
        collector.unspool();
        ASSERT_LT(collector.changed_bytes(), uint64_t{300} << 20);
    }
    for (const auto& [offset, length] : taken())
        EXPECT_LE(offset + length, sizeof memory);
    EXPECT_EQ(collector.changed_bytes(), 0u);
}

}  // namespace
}  // namespace mmapv1
