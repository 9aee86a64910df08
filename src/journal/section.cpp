#include "journal/section.h"

#include <snappy.h>

#include <algorithm>
#include <cstring>

#include "base/dcheck.h"
#include "base/error.h"

namespace journal {

namespace {

constexpr size_t kInitialBytes = size_t{32} << 20;

static_assert(sizeof(Hash) == sizeof(SectionFooter::hash));
// Its varint has up to three bytes, the tag has one, and two are left for its length.
static_assert(kInPlaceBytesMax < 1U << 21 && kInPlaceBytesMax - 1 <= UINT16_MAX);
static_assert(kInPlacePrefix == 3 + 1 + 2 && kInPlacePrefix < kPrefixMax);

// Sum of (word i xor i) over n little-endian words.
uint64_t sum(const uint8_t* p, uint64_t n) {
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t word;
        std::memcpy(&word, p + 8 * i, sizeof word);
        total += word ^ i;
    }
    return total;
}

std::vector<StoreRule>& rules() {
    static auto* instance = new std::vector<StoreRule>;  // filled from other files' static objects
    return *instance;
}

size_t write_varint(uint8_t* to, size_t value) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = static_cast<uint8_t>(value | 0x80);
    to[n++] = static_cast<uint8_t>(value);
    return n;
}

bool is_stored(size_t raw_bytes, const FileFormat& format) {
    for (const StoreRule rule : rules())
        if (rule(raw_bytes, format)) return true;
    return false;
}

}  // namespace

Hash checksum(std::span<const uint8_t> bytes) {
    const uint64_t half = bytes.size() / 16;
    uint64_t words[2] = {sum(bytes.data(), half), sum(bytes.data() + 8 * half, half)};
    // The rest goes in as signed bytes: one of 0x80 or above sets all bits above itself.
    uint64_t rest = 0;
    for (const uint8_t byte : bytes.subspan(16 * half))
        rest = (rest << 8) | static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(byte)));
    words[0] ^= bytes.size();
    words[1] ^= rest;
    Hash hash;
    std::memcpy(hash.data(), words, hash.size());
    return hash;
}

StoreRuleRegistration::StoreRuleRegistration(StoreRule rule) {
    rules().push_back(rule);
}

size_t write_stored_prefix(uint8_t* to, size_t raw_bytes) {
    DCHECK(raw_bytes != 0 && raw_bytes <= UINT32_MAX);
    const size_t varint = write_varint(to, raw_bytes);
    // A literal's tag says how many bytes its length takes: 60 + n in the upper six bits.
    size_t length_bytes = 4;
    if (raw_bytes <= kInPlaceBytesMax) length_bytes = kInPlacePrefix - varint - 1;
    size_t n = varint;
    to[n++] = static_cast<uint8_t>((59 + length_bytes) << 2);
    for (size_t i = 0; i < length_bytes; ++i)
        to[n++] = static_cast<uint8_t>((raw_bytes - 1) >> (8 * i));
    DCHECK(raw_bytes <= kInPlaceBytesMax ? n == kInPlacePrefix : n <= kPrefixMax);
    return n;
}

SectionWriter::SectionWriter() : compressed_(kInitialBytes) {}

std::span<const uint8_t> SectionWriter::write(OpBuffer& ops, const FileFormat& format,
                                              uint64_t sequence, uint64_t file_id) {
    DCHECK(!ops.empty() && file_id != 0);
    const Body body =
        is_stored(ops.ops().size(), format) ? store(ops, format) : compress(ops, format);
    DCHECK(body.payload <= UINT32_MAX - kSectionOverhead);
    DCHECK(reinterpret_cast<uintptr_t>(body.section) % kBufferAlignment == 0);
    const auto length = static_cast<uint32_t>(body.payload + kSectionOverhead);
    const SectionHeader header{length, sequence, file_id};
    std::memcpy(body.section, &header, sizeof header);

    SectionFooter footer{kFooterSentinel, {}, 0, kSectionMagic};
    const Hash hash = checksum({body.section, length - sizeof footer});
    std::memcpy(footer.hash, hash.data(), hash.size());
    std::memcpy(body.section + length - sizeof footer, &footer, sizeof footer);

    // The buffer is used again and again: without this, padding would carry old data to the disk.
    const size_t padded = round_up(length, format.unit);
    std::memset(body.section + length, 0, padded - length);
    const std::span<const uint8_t> section{body.section, padded};
    DCHECK(padded % format.unit == 0);
    DCHECK(carries(view_section(section, file_id), ops.ops()));
    return section;
}

SectionWriter::Body SectionWriter::compress(OpBuffer& ops, const FileFormat& format) {
    const std::span<const uint8_t> raw = ops.ops();
    compressed_.resize(kSectionOverhead + snappy::MaxCompressedLength(raw.size()) + format.unit);
    Body body{compressed_.data(), 0};
    snappy::RawCompress(reinterpret_cast<const char*>(raw.data()), raw.size(),
                        reinterpret_cast<char*>(body.section + sizeof(SectionHeader)),
                        &body.payload);
    return body;
}

// Small payloads stay where they were collected; only large ones, whose prefix is longer than the
// room in front of them, are copied.
SectionWriter::Body SectionWriter::store(OpBuffer& ops, const FileFormat& format) {
    const size_t raw_bytes = ops.ops().size();
    if (raw_bytes <= kInPlaceBytesMax) {
        AlignedBuffer& buffer = ops.buffer();
        buffer.reserve(buffer.size() + sizeof(SectionFooter) + format.unit);
        write_stored_prefix(buffer.data() + sizeof(SectionHeader), raw_bytes);
        return {buffer.data(), kInPlacePrefix + raw_bytes};
    }
    compressed_.resize(kSectionOverhead + kPrefixMax + raw_bytes + format.unit);
    uint8_t* const payload = compressed_.data() + sizeof(SectionHeader);
    const size_t prefix = write_stored_prefix(payload, raw_bytes);
    std::memcpy(payload + prefix, ops.ops().data(), raw_bytes);
    return {compressed_.data(), prefix + raw_bytes};
}

SectionView view_section(std::span<const uint8_t> bytes, uint64_t file_id) {
    SectionView view;
    SectionHeader packed;
    if (bytes.size() < sizeof packed) return view;
    std::memcpy(&packed, bytes.data(), sizeof packed);
    view.header = {packed.length, packed.sequence, packed.file_id};
    if (view.header.file_id != file_id) return view;
    const uint32_t length = view.header.length;
    view.state = SectionState::damaged;
    if (length <= kSectionOverhead) return view;
    if (length > bytes.size()) {
        view.state = SectionState::cut_off;
        return view;
    }
    SectionFooter footer;
    const size_t hashed = length - sizeof footer;
    std::memcpy(&footer, bytes.data() + hashed, sizeof footer);
    view.expected = checksum(bytes.first(hashed));
    std::memcpy(view.stored.data(), footer.hash, view.stored.size());
    view.payload = bytes.first(hashed).subspan(sizeof packed);
    if (footer.magic == kSectionMagic && view.stored == view.expected)
        view.state = SectionState::complete;
    return view;
}

bool carries(const SectionView& section, std::span<const uint8_t> ops) {
    return section.state == SectionState::complete &&
           section.payload.size() + kSectionOverhead == section.header.length &&
           std::ranges::equal(decode_payload(section.payload), ops);
}

std::vector<uint8_t> decode_payload(std::span<const uint8_t> payload) {
    const char* data = reinterpret_cast<const char*>(payload.data());
    size_t raw = 0;
    if (!snappy::IsValidCompressedBuffer(data, payload.size()) ||
        !snappy::GetUncompressedLength(data, payload.size(), &raw))
        base::fail(15874, "couldn't uncompress journal section");
    std::vector<uint8_t> ops(raw);
    if (!snappy::RawUncompress(data, payload.size(), reinterpret_cast<char*>(ops.data())))
        base::fail(15874, "couldn't uncompress journal section");
    return ops;
}

}  // namespace journal
