#include "storage/mmapv1/commit/before_images.h"

#include <gtest/gtest.h>

#include <string>

namespace mmapv1 {
namespace {

class BeforeImagesTest : public testing::Test {
  protected:
    void write(size_t at, std::string_view text) {
        images_.copy(bytes_ + at, static_cast<uint32_t>(text.size()));
        text.copy(reinterpret_cast<char*>(bytes_) + at, text.size());
    }
    std::string bytes() const { return {reinterpret_cast<const char*>(bytes_), sizeof bytes_}; }

    uint8_t bytes_[8] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    BeforeImages images_;
};

TEST_F(BeforeImagesTest, TheFirstCopyOfAPlaceWins) {
    images_.begin();
    write(0, "123");
    write(2, "456");
    write(0, "x");
    EXPECT_EQ(bytes(), "x2456fgh");
    images_.undo();
    EXPECT_EQ(bytes(), "abcdefgh");
    EXPECT_TRUE(images_.empty());
}

TEST_F(BeforeImagesTest, WhatIsKeptInAnotherGoesWithIt) {
    images_.begin();
    write(0, "1");
    images_.begin();
    write(1, "2");
    images_.undo();
    EXPECT_EQ(bytes(), "1bcdefgh");
    images_.begin();
    write(2, "3");
    images_.end();
    EXPECT_EQ(bytes(), "1b3defgh");
    EXPECT_FALSE(images_.empty());
    images_.undo();
    EXPECT_EQ(bytes(), "abcdefgh");
}

TEST_F(BeforeImagesTest, CallsComeOnceTheBytesAreBackTheLatestFirst) {
    std::string seen;
    images_.begin();
    images_.on_undo([&] { seen += "first " + bytes() + " "; });
    images_.begin();
    write(0, "1");
    images_.on_undo([&] { seen += "kept "; });
    images_.end();
    images_.begin();
    images_.on_undo([&] { seen += "own "; });
    images_.undo();
    EXPECT_EQ(seen, "own ");
    images_.undo();
    EXPECT_EQ(seen, "own kept first abcdefgh ");
    images_.begin();
    images_.on_undo([&] { seen = "of one that was kept"; });
    images_.end();
    images_.begin();
    images_.undo();
    EXPECT_EQ(seen, "own kept first abcdefgh ");
}

// More than it keeps memory for.
TEST_F(BeforeImagesTest, ManyRanges) {
    for (int round = 0; round < 2; ++round) {
        images_.begin();
        for (int i = 0; i < 20'000; ++i)
            write(static_cast<size_t>(i) % 5, std::to_string(i % 1000));
        images_.undo();
        EXPECT_EQ(bytes(), "abcdefgh");
    }
}

}  // namespace
}  // namespace mmapv1
