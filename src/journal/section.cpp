#include "journal/section.h"

#include <snappy.h>

#include "base/error.h"

namespace journal {

namespace {

constexpr size_t kInitialBytes = size_t{32} << 20;

}  // namespace

SectionWriter::SectionWriter() : compressed_(kInitialBytes) {}

std::span<const uint8_t> SectionWriter::write(OpBuffer& ops, const FileFormat& format,
                                              uint64_t sequence, uint64_t file_id) {
    const std::span<const uint8_t> raw = ops.ops();
    compressed_.reserve(sizeof(SectionHeader) + snappy::MaxCompressedLength(raw.size()) +
                        sizeof(SectionFooter) + format.unit);
    uint8_t* section = compressed_.data();
    size_t payload = 0;
    snappy::RawCompress(reinterpret_cast<const char*>(raw.data()), raw.size(),
                        reinterpret_cast<char*>(section + sizeof(SectionHeader)), &payload);

    const auto length = static_cast<uint32_t>(payload + kSectionOverhead);
    const SectionHeader header{length, sequence, file_id};
    std::memcpy(section, &header, sizeof header);

    SectionFooter footer{kFooterSentinel, {}, 0, kSectionMagic};
    const Hash hash = checksum({section, length - sizeof footer});
    std::memcpy(footer.hash, hash.data(), hash.size());
    std::memcpy(section + length - sizeof footer, &footer, sizeof footer);

    // The buffer is used again and again: without this, padding would carry old data to the disk.
    const size_t padded = round_up(length, format.unit);
    std::memset(section + length, 0, padded - length);
    return {section, padded};
}

SectionView view_section(std::span<const uint8_t> bytes, uint64_t file_id) {
    SectionView view;
    if (bytes.size() < sizeof view.header) return view;
    std::memcpy(&view.header, bytes.data(), sizeof view.header);
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
    view.payload = bytes.first(hashed).subspan(sizeof view.header);
    if (footer.magic == kSectionMagic && view.stored == view.expected)
        view.state = SectionState::complete;
    return view;
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
