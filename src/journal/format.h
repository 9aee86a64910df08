// journal/format.h - what the bytes of journal/ mean (journal spec 2).
//
// The room journal/ knows bytes and files: it writes sections, keeps the directory, reads files
// back. It knows nothing of data files as such: an operation names a path prefix and a file number.
//
// All integers are little-endian, all structures packed. A journal file:
//
//      0  FileHeader, 8192 bytes
//   8192  section | padding | section | padding ...
//
// A section is one group commit, all or nothing. It begins at a multiple of the file's unit:
//
//      0  SectionHeader, 20 bytes
//     20  payload: raw Snappy block of the operation stream (op_stream.h)
//   20+P  SectionFooter, 32 bytes; its hash covers header and payload
//   52+P  zeros up to the next multiple of the unit
//
// Worked example (journal spec 11.2), payload of 59 bytes, file id 0x0011223344556677, sequence
// number 59060:
//   6f000000 b4e6000000000000 7766554433221100   header: 111 bytes in all
//   39 e0 feffffff 7465737400 ...                payload: 57 raw bytes as one literal
//   ffffffff d2228665d7a15548 8586073b6d9c9b96 0000000000000000 0a0a0a0a
//   followed by 8081 zero bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace journal {

// What may differ from file to file. A reader takes the unit from the version in the header.
struct FileFormat {
    uint16_t version;
    uint32_t unit;  // bytes; sections begin at multiples of it
};
constexpr FileFormat kClassicFormat{0x4149, 8192};

// The format a version number stands for; nothing if this build cannot read it.
std::optional<FileFormat> format_of(uint16_t version);
// The format of files that are begun from now on in that directory.
FileFormat format_of_new_files(const std::string& directory);

constexpr uint32_t kFileHeaderBytes = 8192;
// Buffers for direct I/O start at a multiple of this.
constexpr uint32_t kBufferAlignment = 8192;

constexpr uint32_t kFooterSentinel = 0xffffffff;
constexpr uint32_t kOpDbContext = 0xfffffffe;
constexpr uint32_t kOpFileCreated = 0xfffffffd;
constexpr uint32_t kOpDropDb = 0xfffffffc;
constexpr uint32_t kOpLowest = 0xfffff000;  // a basic write is shorter than this
constexpr uint32_t kNsFile = 0x7fffffff;    // file number of the .ns file
constexpr uint32_t kLocalBit = 0x80000000;  // of a file number: the prefix is "local"
constexpr uint32_t kWriteOffsetMax = 0x80000000;
constexpr uint32_t kPrefixBytesMax = 128;  // with NUL
constexpr uint32_t kSectionMagic = 0x0a0a0a0a;

#pragma pack(push, 1)
struct FileHeader {
    uint8_t magic[2];  // 'j' LF
    uint16_t version;
    uint8_t lf1;
    char created[20];  // local time, "Mar 23 16:32:14", NUL padded
    uint8_t lf2;
    char path[128];  // of this file as the server knows it, NUL padded
    uint8_t lf3[2];
    uint64_t file_id;  // never 0; every section repeats it
    uint8_t reserved[8026];
    uint8_t lf4[2];
};
struct SectionHeader {
    uint32_t length;  // header, payload and footer, without padding
    uint64_t sequence;
    uint64_t file_id;
};
struct SectionFooter {
    uint32_t sentinel;  // kFooterSentinel; not checked by readers
    uint8_t hash[16];
    uint64_t reserved;  // 0
    uint32_t magic;     // kSectionMagic
};
struct BasicWriteHeader {
    uint32_t length;
    uint32_t offset;
    uint32_t file_number;
};
// journal/lsn (journal spec 2.10).
struct LsnFile {
    uint32_t version;  // 0
    uint32_t reserved1;
    uint64_t lsn;
    uint64_t check;  // ~lsn
    uint64_t reserved2[8];
};
#pragma pack(pop)

static_assert(sizeof(FileHeader) == kFileHeaderBytes);
static_assert(offsetof(FileHeader, file_id) == 156 && offsetof(FileHeader, lf4) == 8190);
static_assert(sizeof(SectionHeader) == 20);
static_assert(sizeof(SectionFooter) == 32);
static_assert(sizeof(BasicWriteHeader) == 12);
static_assert(sizeof(LsnFile) == 88);
static_assert(offsetof(FileHeader, path) == 26);
static_assert(offsetof(SectionHeader, file_id) == 12);
static_assert(offsetof(SectionFooter, magic) == 28);
static_assert(offsetof(LsnFile, check) == 16);
// The first section begins right behind the header.
static_assert(kFileHeaderBytes % kClassicFormat.unit == 0);
// What an operation begins with is the length of a write, or a code above all of these.
static_assert(kOpLowest < kOpDropDb && kOpDropDb < kOpFileCreated &&
              kOpFileCreated < kOpDbContext && kOpDbContext < kFooterSentinel);
static_assert((kNsFile & kLocalBit) == 0);

constexpr uint32_t kSectionOverhead = sizeof(SectionHeader) + sizeof(SectionFooter);

constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace journal
