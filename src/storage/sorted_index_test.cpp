#include "storage/sorted_index.h"

#include <gtest/gtest.h>

#include "bson/builder.h"

namespace storage {
namespace {

TEST(DescendingBits, AreTheFieldsWithNegativeNumbers) {
    EXPECT_EQ(descending_bits(
                  bson::make("a", 1, "b", -1, "c", -0.5, "d", "hashed", "e", int64_t{-5}, "f", 0)),
              0b10110U);
    EXPECT_EQ(descending_bits(bson::Doc()), 0U);
}

}  // namespace
}  // namespace storage
