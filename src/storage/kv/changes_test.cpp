#include "storage/kv/changes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/kv/bytes.h"

namespace kv {
namespace {

constexpr Table kTable{16};
constexpr size_t kLargeBytes = size_t{8} << 20;

class ChangesTest : public testing::Test {
  protected:
    void put(std::string_view key, std::string_view value) {
        changes.put(kTable, as_bytes(key), as_bytes(value));
    }
    std::string all() {
        std::string text;
        EXPECT_TRUE(changes.each([&](const Change& change) {
            EXPECT_EQ(change.table, kTable);
            text.append(as_text(change.key)).append("=");
            text.append(change.value ? as_text(*change.value) : "gone").append(" ");
            return true;
        }));
        return text;
    }

    Changes changes;
    const std::string large = std::string(kLargeBytes, 'x');
};

TEST_F(ChangesTest, TheyAreInTheOrderInWhichTheyWereMade) {
    put("b", "1");
    put("a", "");
    changes.erase(kTable, as_bytes("b"));
    put("b", "2");
    EXPECT_EQ(all(), "b=1 a= b=gone b=2 ");
    int used = 0;
    EXPECT_FALSE(changes.each([&](const Change&) { return ++used < 3; }));
    EXPECT_EQ(used, 3);
    changes.clear();
    EXPECT_TRUE(changes.empty());
    EXPECT_EQ(all(), "");
}

TEST_F(ChangesTest, ARollBackTakesThoseSinceTheMark) {
    const std::string half(kLargeBytes / 2, 'y');
    const auto from_nothing = changes.mark();
    put("a", "1");
    const auto mark = changes.mark();
    put("b", "1");
    put("large", half);
    put("c", "1");
    std::string taken;
    const auto use = [&](const Changes::Made& made) { taken.append(as_text(made.key())); };
    changes.roll_back(mark, use);
    EXPECT_EQ(taken, "blargec");
    EXPECT_EQ(all(), "a=1 ");
    put("d", "1");
    EXPECT_EQ(all(), "a=1 d=1 ");
    changes.roll_back(from_nothing, use);
    EXPECT_EQ(taken, "blargecad");
    EXPECT_TRUE(changes.empty());
    put("e", "1");
    EXPECT_EQ(all(), "e=1 ");
}

// Many sessions hold one at the same time.
TEST_F(ChangesTest, ALargeRowTakesItsMemoryOnce) {
    const auto is_lean = [&] { return changes.memory_bytes() < kLargeBytes / 8; };
    put("before", "small");
    const auto mark = changes.mark();
    put("large", large);
    put("entry", "small");
    EXPECT_LT(changes.memory_bytes(), kLargeBytes + kLargeBytes / 4);
    changes.roll_back(mark, [](const Changes::Made&) {});
    EXPECT_TRUE(is_lean());
    for (const bool is_first : {false, true}) {
        if (!is_first) put("before", "small");
        put("large", large);
        changes.clear();
        EXPECT_TRUE(is_lean());
    }
}

// A map that copies them need not have a large row twice.
TEST_F(ChangesTest, WhatIsTakenGivesItsMemoryBack) {
    for (int i = 0; i < 4; ++i)
        put("row " + std::to_string(i), large);
    std::vector<size_t> left;
    changes.take([&](const Change& change) {
        EXPECT_EQ(as_text(*change.value), large);
        left.push_back(changes.memory_bytes() / kLargeBytes);
    });
    EXPECT_EQ(left, (std::vector<size_t>{4, 3, 2, 1}));
    changes.clear();
    put("a", "1");
    EXPECT_EQ(all(), "a=1 ");
}

// So that the memory of many goes back to the system as they are taken.
TEST_F(ChangesTest, ManySmallRowsTakeFewBlocks) {
    const std::string small(100, 'x');
    size_t blocks = 0, memory = 0;
    for (int i = 0; i < 100'000; ++i) {
        put("row " + std::to_string(i), small);
        if (changes.memory_bytes() != memory) ++blocks;
        memory = changes.memory_bytes();
    }
    EXPECT_LT(blocks, 30U);
    EXPECT_LT(memory, changes.bytes() + (size_t{2} << 20));
}

}  // namespace
}  // namespace kv
