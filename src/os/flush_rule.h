// os/flush_rule.h - when a file that is written past the page cache needs a flush on Windows.
//
// Windows sends the bytes of an unbuffered write to the device before the write returns, but notes
// the file's length and its name when it likes (journal spec 3.4). Bytes can be read back after a
// power cut only when both are on the device. A flush is therefore due after the first write, since
// the name may be new, and after each write that ends behind what was flushed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace os {

// The rule for one open file. Offsets and lengths in bytes.
class FlushRule {
  public:
    void note_write(uint64_t end) { written_to_ = std::max(written_to_, end); }
    // Notes that up to `length` bytes and the name are on the device.
    void note_flush(uint64_t length) { flushed_to_ = length; }
    // Notes that the bytes behind `length` are gone, or were never written.
    void note_length(uint64_t length) { flushed_to_ = std::min(flushed_to_, length); }

    bool flush_is_due() const { return written_to_ > flushed_to_; }
    uint64_t written_to() const { return written_to_; }

  private:
    uint64_t written_to_ = 0;
    uint64_t flushed_to_ = 0;
};

}  // namespace os
