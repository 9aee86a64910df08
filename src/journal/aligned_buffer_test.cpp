// The buffers of a commit: growth, and what is given back afterwards.

#include "journal/aligned_buffer.h"

#include <gtest/gtest.h>

#include "journal/format.h"

namespace journal {
namespace {

constexpr size_t kMB = size_t{1} << 20;

void use(AlignedBuffer& buffer, size_t bytes, int times = 1) {
    for (int i = 0; i < times; ++i) {
        buffer.resize(bytes);
        buffer.end_use();
    }
}

TEST(AlignedBuffer, WhatIsInItSurvivesGrowth) {
    AlignedBuffer buffer(16);
    for (uint32_t i = 0; i < 10'000; ++i)
        buffer.append_value(i);
    for (uint32_t i = 0; i < 10'000; ++i) {
        uint32_t value = 0;
        std::memcpy(&value, buffer.data() + i * sizeof i, sizeof i);
        ASSERT_EQ(value, i);
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
}

TEST(AlignedBuffer, WhatIsNeededAgainIsKept) {
    AlignedBuffer buffer(kMB);
    for (int i = 0; i < 5; ++i) {
        use(buffer, 100 * kMB);
        EXPECT_EQ(buffer.capacity(), 128 * kMB);
        use(buffer, 10, AlignedBuffer::kUsesPerLook - 2);
    }
}

TEST(AlignedBuffer, WhatIsNotNeededAgainIsGivenBack) {
    AlignedBuffer buffer(kMB);
    use(buffer, 100 * kMB);
    use(buffer, 3 * kMB, 2 * AlignedBuffer::kUsesPerLook);
    EXPECT_EQ(buffer.capacity(), 4 * kMB) << "what the others need";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
    use(buffer, 10, 2 * AlignedBuffer::kUsesPerLook);
    EXPECT_EQ(buffer.capacity(), kMB);
    use(buffer, 0, 2 * AlignedBuffer::kUsesPerLook);
    EXPECT_EQ(buffer.capacity(), kMB) << "no less than at first";
}

TEST(AlignedBuffer, WhatNoOrdinaryCommitNeedsIsGivenBackAtOnce) {
    AlignedBuffer buffer(kMB);
    use(buffer, AlignedBuffer::kKeptBytesMax);
    EXPECT_EQ(buffer.capacity(), AlignedBuffer::kKeptBytesMax);
    use(buffer, AlignedBuffer::kKeptBytesMax + 1);
    EXPECT_EQ(buffer.capacity(), kMB);
    EXPECT_EQ(buffer.size(), 0u);
}

}  // namespace
}  // namespace journal
