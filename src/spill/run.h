// spill/run.h - entries in a temporary file, for what does not fit into memory: sorted runs, and
// what is to be read again.
//
// The room spill/ is what sorts beside the data: temporary_file.h has the files, run.h entries in
// them, sorted_runs.h merges runs, sorter.h sorts entries of bytes. It knows neither documents nor
// their order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "bson/builder.h"
#include "spill/temporary_file.h"

namespace spill {

// Returns so many bytes of memory, less if operations may hold little.
int64_t fair_share(int64_t bytes);
// Whether memory that would hold `bytes` should rather be written out: they are more than the fair
// share of `limit`, or the operation has little left.
bool is_full(int64_t bytes, int64_t limit);

// Large tails of entries, in a file of their own. Each is written once and moves no more: the runs
// that an entry is merged into only say where it lies.
class Values {
  public:
    struct ValueLocation {
        uint64_t offset = 0;
        uint32_t bytes = 0;
    };
    // Less is copied as fast as it is looked up.
    static constexpr size_t kLargeBytes = size_t{64} << 10;

    explicit Values(Folder& folder) : folder_(folder) {}
    ValueLocation add(std::span<const uint8_t> bytes);
    // Fills `to`, of as many bytes as the place has.
    void read(const ValueLocation& place, std::span<uint8_t> to);

  private:
    Folder& folder_;
    std::optional<TemporaryFile> file_;  // none before the first one
};

// Written from the first entry to the last one, then read in this order, any number of times. Calls
// throw what TemporaryFile does; they count ticks (sched/tick.h), so that they can be
// interrupted.
class Run {
  public:
    // `values` is the place where large tails go.
    explicit Run(Folder& folder, Values* values = nullptr) : file_(folder), values_(values) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Appends one entry, in parts, which the caller need not join.
    void append(std::span<const uint8_t> head, std::span<const uint8_t> body = {},
                std::span<const uint8_t> tail = {});
    // Appends the entry at which another run with the same values stands; a tail among these stays
    // there.
    void append_from(const Run& other);
    // Ends the writing; the next entry is the first one.
    void rewind();
    // Moves to the next entry; false at the end.
    bool advance();
    // These are valid until the next advance(). The entry without a tail that lies among the
    // values:
    std::span<const uint8_t> entry() const;
    bool has_large_tail() const { return large_; }
    // The whole entry, brought together in `memory` if it has a large tail.
    std::span<const uint8_t> whole(sched::Bytes& memory) const;

    // Returns how many bytes reading it holds in memory at most, beside large tails.
    size_t memory_bytes() const;

  private:
    void write(std::span<const uint8_t> bytes);
    void write_chunk();
    bool have(size_t bytes);

    TemporaryFile file_;
    Values* const values_;
    size_t largest_ = 0;   // of what is written for an entry, in bytes
    bson::Buffer chunk_;   // to be written
    uint64_t offset_ = 0;  // what was read last ends there
    sched::Bytes read_;
    size_t capacity_ = 0;  // of read_
    size_t held_ = 0;      // of it, how much has been read
    size_t position_ = 0;  // in it, behind the entry
    size_t entry_ = 0;     // in it
    bool large_ = false;   // the entry ends with the place of its tail
};

}  // namespace spill
