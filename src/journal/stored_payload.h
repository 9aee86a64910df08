// journal/stored_payload.h - payloads that are not compressed: a Snappy block of one literal.
//
// Such a block costs a few bytes and no search, and every reader of Snappy decodes it, old servers
// included. Which payloads are stored that way is decided by rules, which options bring; without a
// rule everything is compressed.
//
//   varint raw length | literal tag | raw bytes          (worked example: journal spec 11.2)
#pragma once

#include <cstddef>
#include <cstdint>

#include "journal/format.h"

namespace journal {

// Whether a payload of that many raw bytes is to be stored. Called by the committing thread.
using StoreRule = bool (*)(size_t raw_bytes, const FileFormat& format);

// Adds a rule before main(); one that agrees is enough.
class StoreRuleRegistration {
  public:
    explicit StoreRuleRegistration(StoreRule rule);
};
bool is_stored(size_t raw_bytes, const FileFormat& format);

// Space that a stored payload needs in front of its raw bytes. Payloads of at most
// kMaxInPlaceBytes always use kInPlacePrefix bytes (by a longer tag than necessary where they are
// short), so that operations collected that far behind a section header need not be moved.
constexpr size_t kInPlacePrefix = 6;
constexpr size_t kMaxInPlaceBytes = 65536;
constexpr size_t kMaxPrefix = 10;

// Writes the prefix for a payload and returns its size: kInPlacePrefix up to kMaxInPlaceBytes, else
// at most kMaxPrefix.
size_t write_stored_prefix(uint8_t* to, size_t raw_bytes);

}  // namespace journal
