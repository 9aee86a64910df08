#include "wire/input_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

namespace wire {
namespace {

std::string_view content(const InputBuffer& input) {
    return {reinterpret_cast<const char*>(input.data()), input.size()};
}

TEST(InputBuffer, TakesTheRoomItSaysAndKeepsWhatIsThere) {
    std::mt19937 random(1);
    InputBuffer input;
    std::string expected;
    char next = 0;
    for (int i = 0; i < 20'000; ++i) {
        const size_t more = size_t{1} << random() % 20;
        const size_t wanted = expected.size() + 1 + random() % more;
        const size_t capacity = input.capacity_for(wanted);
        input.reserve(wanted);
        ASSERT_EQ(input.capacity(), capacity) << wanted;
        ASSERT_EQ(content(input), expected);
        const auto space = input.free_space();
        ASSERT_GT(space.size(), 0u);
        const size_t n = std::min<size_t>({space.size(), 1 + random() % more, 300'000});
        const std::string arrived(n, ++next);
        std::copy(arrived.begin(), arrived.end(), static_cast<char*>(space.data()));
        input.received(n);
        expected += arrived;
        const size_t served = random() % 4 == 0 ? expected.size() : random() % (n + 1);
        input.consume(served);
        expected.erase(0, served);
    }
}

TEST(InputBuffer, ALargeMessageGetsItsRoomAsItComes) {
    InputBuffer input;
    input.reserve(16);
    input.received(16);
    EXPECT_LE(input.capacity_for(48'000'000), 256u * 1024);
}

}  // namespace
}  // namespace wire
