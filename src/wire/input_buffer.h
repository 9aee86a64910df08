// wire/input_buffer.h - bytes of one connection that were received and are not served yet.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/dcheck.h"
#include "sched/memory.h"

namespace wire {

class InputBuffer {
  public:
    const uint8_t* data() const { return bytes_.get() + begin_; }
    size_t size() const { return end_ - begin_; }
    size_t capacity() const { return bytes_ == nullptr ? 0 : capacity_; }
    // The space for the next bytes; never empty after reserve.
    boost::asio::mutable_buffer free_space() { return {bytes_.get() + end_, capacity_ - end_}; }
    void received(size_t n) {
        DCHECK(n <= capacity_ - end_);
        end_ += n;
    }
    void consume(size_t n) {
        DCHECK(n <= size());
        begin_ += n;
        if (begin_ == end_) begin_ = end_ = 0;
    }
    // Returns what capacity() is after reserve(wanted).
    size_t capacity_for(size_t wanted) const {
        wanted = claimed(wanted);
        const size_t kept = is_kept(wanted) ? capacity() : 0;
        if (kept >= wanted) return kept;
        return wanted <= kKeptBytes ? std::max(kFirstBytes, std::bit_ceil(wanted)) : wanted;
    }
    // Makes room for more of a message of `wanted` bytes, whose beginning is here. A large one gets
    // its room as it comes: claiming 48 MB takes 16 bytes.
    void reserve(size_t wanted) {
        DCHECK(wanted > size());
        wanted = claimed(wanted);
        if (!is_kept(wanted)) bytes_.reset();
        if (bytes_ == nullptr) capacity_ = 0;
        if (capacity_ - begin_ >= wanted && end_ < capacity_) return;
        if (begin_ != 0) {
            std::memmove(bytes_.get(), data(), size());
            end_ = size();
            begin_ = 0;
        }
        if (capacity_ < wanted) grow(capacity_for(wanted));
        DCHECK(end_ < capacity_);
    }

  private:
    // An idle connection keeps this much for the next message, a busy one what its last messages
    // needed, but not more than kKeptBytes.
    static constexpr size_t kFirstBytes = 2048;
    static constexpr size_t kKeptBytes = 16 * 1024;
    // The most room that a message gets for its mere length.
    static constexpr size_t kClaimBytesMax = 256 * 1024;
    static_assert(std::has_single_bit(kFirstBytes));
    static_assert(kFirstBytes <= kKeptBytes && kKeptBytes <= kClaimBytesMax);

    size_t claimed(size_t wanted) const {
        if (wanted <= kClaimBytesMax || wanted <= capacity()) return wanted;
        return std::min(wanted, std::max(kClaimBytesMax, 2 * size()));
    }
    bool is_kept(size_t wanted) const {
        return size() != 0 || capacity() <= kKeptBytes || wanted > kFirstBytes;
    }

    struct Release {
        void operator()(uint8_t* bytes) const { sched::memory::release(bytes); }
    };

    // Grows the buffer; a large one moves without being copied, since neighbours wait for this.
    void grow(size_t capacity) {
        DCHECK(capacity > capacity_);
        auto* const bytes = static_cast<uint8_t*>(
            sched::memory::reallocate(bytes_.get(), capacity, sched::memory::Reserve::never));
        static_cast<void>(bytes_.release());
        bytes_.reset(bytes);
        capacity_ = capacity;
    }

    std::unique_ptr<uint8_t, Release> bytes_;
    size_t begin_ = 0;
    size_t end_ = 0;
    size_t capacity_ = 0;
};

}  // namespace wire
