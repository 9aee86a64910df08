#include "bson/builder.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <random>

#include "base/error.h"

namespace bson {

void Buffer::grow(size_t needed) {
    if (needed > kBytesMax)
        base::fail(base::kExceededMemoryLimit, "a result of {} bytes is too large, at most {}",
                   needed, kBytesMax);
    // A large buffer that is half unused is much of what an operation may hold.
    constexpr size_t kDoubledToBytes = size_t{8} << 20;
    size_t capacity = std::max<size_t>(capacity_, 256);
    while (capacity < needed && capacity < kDoubledToBytes)
        capacity *= 2;
    if (capacity < needed) capacity = std::max(needed, capacity_ + capacity_ / 4);
    data_ = static_cast<uint8_t*>(sched::memory::reallocate(data_, capacity + kEndBytes));
    capacity_ = capacity;
}

Builder& Builder::append_regex(std::string_view name, std::string_view pattern,
                               std::string_view flags) {
    header(Type::regex, name);
    buffer_->append(pattern.data(), pattern.size());
    buffer_->append_byte(0);
    buffer_->append(flags.data(), flags.size());
    buffer_->append_byte(0);
    return *this;
}

Builder& Builder::append_binary(std::string_view name, uint8_t subtype,
                                std::span<const uint8_t> data) {
    header(Type::binary, name);
    buffer_->append_value<int32_t>(static_cast<int32_t>(data.size()));
    buffer_->append_byte(subtype);
    buffer_->append(data.data(), data.size());
    return *this;
}

Builder& Builder::append_number(std::string_view name, int64_t v) {
    const auto is_within = [v](int64_t limit) { return v > -limit && v < limit; };
    if (is_within(int64_t{1} << 30)) return append(name, static_cast<int32_t>(v));
    if (is_within(int64_t{1} << 40)) return append(name, static_cast<double>(v));
    return append(name, v);
}

ObjectId new_object_id() {
    struct Machine {
        uint8_t bytes[5];
        Machine() {
            std::random_device random;
            for (uint8_t& b : bytes)
                b = static_cast<uint8_t>(random());
        }
    };
    static const Machine machine;
    static std::atomic<uint32_t> counter{std::random_device{}()};
    const auto seconds = static_cast<uint32_t>(time(nullptr));
    const uint32_t n = counter.fetch_add(1, std::memory_order_relaxed);
    ObjectId id;
    for (int i = 0; i < 4; ++i)
        id.bytes[i] = static_cast<uint8_t>(seconds >> (24 - 8 * i));
    std::memcpy(id.bytes + 4, machine.bytes, sizeof machine.bytes);
    for (int i = 0; i < 3; ++i)
        id.bytes[9 + i] = static_cast<uint8_t>(n >> (16 - 8 * i));
    return id;
}

}  // namespace bson
