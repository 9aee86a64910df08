#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>

namespace base {
namespace {

// The well-known check value of this polynomial, and those of RFC 3720 B.4.
TEST(Crc32c, KnownValues) {
    EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
    EXPECT_EQ(crc32c("", 0), 0u);
    unsigned char block[32];
    std::memset(block, 0, sizeof block);
    EXPECT_EQ(crc32c(block, sizeof block), 0x8a9136aau);
    std::memset(block, 0xff, sizeof block);
    EXPECT_EQ(crc32c(block, sizeof block), 0x62a8ab43u);
}

TEST(Crc32c, CanBeContinued) {
    EXPECT_EQ(crc32c("6789", 4, crc32c("12345", 5)), crc32c("123456789", 9));
}

}  // namespace
}  // namespace base
