// journal/section.h - one group commit as bytes: putting a section together and taking it apart.
//
// A payload is compressed, or stored: a Snappy block of one literal. Such a block costs a few bytes
// and no search, and every reader of Snappy decodes it, old servers included. Which payloads are
// stored is decided by rules, which options bring; without a rule everything is compressed.
//
//   varint raw length | literal tag | raw bytes          (worked example: journal spec 11.2)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "journal/aligned_buffer.h"
#include "journal/format.h"
#include "journal/op_stream.h"

namespace journal {

// The 16-byte hash of a section (journal spec 2.7): two sums, not cryptographic.
using Hash = std::array<uint8_t, 16>;
Hash checksum(std::span<const uint8_t> bytes);

// Whether a payload of that many raw bytes is to be stored. Called by the committing thread.
using StoreRule = bool (*)(size_t raw_bytes, const FileFormat& format);

// Adds a rule before main(); one that agrees is enough.
class StoreRuleRegistration {
  public:
    explicit StoreRuleRegistration(StoreRule rule);
};

// Payloads of at most kInPlaceBytesMax always have a prefix of kInPlacePrefix bytes (by a longer
// tag than necessary where they are short), so that operations collected that far behind a section
// header need not be moved. Longer ones have at most kPrefixMax.
constexpr size_t kInPlaceBytesMax = 65536;
constexpr size_t kPrefixMax = 10;
// Writes the prefix for a payload and returns its size.
size_t write_stored_prefix(uint8_t* to, size_t raw_bytes);

// Turns the operations of a commit into a finished section, padding included.
class SectionWriter {
  public:
    SectionWriter();

    // The result starts at a multiple of kBufferAlignment, its size is a multiple of the unit. It
    // lies in `ops` or in this object and stays good until either is used again.
    std::span<const uint8_t> write(OpBuffer& ops, const FileFormat& format, uint64_t sequence,
                                   uint64_t file_id);
    // Ends the last result; so does the end of its operations, where it lies in them.
    void clear() { compressed_.end_use(); }

  private:
    // A section in the making: where it starts and how long its payload is.
    struct Body {
        uint8_t* section;
        size_t payload;
    };
    Body compress(OpBuffer& ops, const FileFormat& format);
    Body store(OpBuffer& ops, const FileFormat& format);

    AlignedBuffer compressed_;
};

// A section that starts at bytes[0], as far as it can be believed.
enum class SectionState {
    complete,
    foreign,  // another file id (or zeros): nothing was written here in this file's life
    cut_off,  // longer than what is there
    damaged,  // the length makes no sense, or footer or checksum do not fit
};
// A section header copied out of its packed place, so that references to the fields are aligned.
struct SectionFields {
    uint32_t length = 0;
    uint64_t sequence = 0;
    uint64_t file_id = 0;
};
struct SectionView {
    SectionState state = SectionState::foreign;
    SectionFields header;
    std::span<const uint8_t> payload;
    Hash expected{}, stored{};
};
// Looks at the bytes from a section's start to the end of the file; length and checksum are
// verified before anything else is trusted.
SectionView view_section(std::span<const uint8_t> bytes, uint64_t file_id);

// Whether that section carries those operations and nothing else. What is written and what is read
// back must both be so.
bool carries(const SectionView& section, std::span<const uint8_t> ops);

// The operation stream of a payload. Throws base::Error 15874 if it does not decode.
std::vector<uint8_t> decode_payload(std::span<const uint8_t> payload);

}  // namespace journal
