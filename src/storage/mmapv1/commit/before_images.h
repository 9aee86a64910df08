// storage/mmapv1/commit/before_images.h - what one thread needs to take back what it has written:
// copies of the bytes that stood in each declared range.
//
// A change that may have to be taken back (storage/write_unit.h) has each of its declarations
// copied, before the write. The bytes go back in reverse order, so that the first copy of a place
// wins. They go into ranges that the running commit covers already: nothing is declared anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/dcheck.h"

namespace mmapv1 {

class BeforeImages {
  public:
    // Returns the calling thread's, whose memory it keeps.
    static BeforeImages& of_thread();

    // Pairs of begin() and one of the others may lie in each other.
    void begin();
    void undo();
    void end();
    bool empty() const { return begun_.empty(); }

    // REQUIRES of both: !empty().
    void copy(uint8_t* start, uint32_t bytes) {
        DCHECK(!empty());
        if (capacity_ - size_ < bytes + sizeof(Range)) grow(bytes);
        std::memcpy(buffer_.get() + size_, start, bytes);
        const Range range{start, bytes};
        std::memcpy(buffer_.get() + size_ + bytes, &range, sizeof range);
        size_ += bytes + sizeof range;
    }
    void on_undo(std::function<void()> call);

  private:
    static constexpr size_t kKeptBytes = 64 << 10;

    // Stands behind the bytes that were copied of it.
    struct Range {
        uint8_t* start;
        size_t bytes;
    };
    struct Begun {
        size_t size;
        size_t calls;
    };
    void grow(uint32_t bytes);

    std::vector<Begun> begun_;
    std::unique_ptr<uint8_t[]> buffer_;
    size_t size_ = 0;
    size_t capacity_ = 0;
    std::vector<std::function<void()>> calls_;
};

}  // namespace mmapv1
