// storage/mmapv1/space/layout.h - every structure of the data files and of the namespace file, as
// it lies on disk (mmapv1 spec 2 to 5).
//
// The structures are packed and little-endian; they are used in place, in the private views. The
// offsets beside the fields are decimal and asserted below. Nothing here may be renumbered: files
// of 2.4, 2.6 and 3.0 are read through it. Changing a field means declaring it first (views.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/mmapv1/space/disk_loc.h"

namespace mmapv1 {

constexpr int32_t kDataFileHeaderBytes = 8192;
constexpr int32_t kDataFileTrailerBytes = 16;  // never allocated
constexpr int32_t kVersionMajor = 4;
constexpr int32_t kVersionMinorPlain = 5;       // databases of up to 2.6
constexpr int32_t kVersionMinorPlugins = 6;     // 2dsphere or text indexes may exist
constexpr int32_t kVersionMinorLevel = 0xf;     // bits: which of the two
constexpr int32_t kVersionMinorLists30 = 0x10;  // bit: free lists of 3.0 (mmapv1 spec 5.9)

constexpr uint32_t kExtentMagic = 0x41424344;
constexpr int32_t kExtentHeaderBytes = 176;
constexpr int32_t kMinExtentBytes = 4096;

constexpr int32_t kRecordHeaderBytes = 16;
constexpr int32_t kMinRemainderBytes = 24;  // a split leaves at least this much
constexpr uint32_t kDeletedMarker = 0xeeeeeeee;

constexpr int kDeletedLists = 19;
// Upper bounds of the deleted lists: list i holds sizes s with bound[i-1] <= s < bound[i]; the last
// one holds everything of 4 MB and more (mmapv1 spec 5.4).
constexpr int32_t kListBounds[kDeletedLists] = {
    0x20,   0x40,    0x80,    0x100,   0x200,   0x400,    0x800,    0x1000,   0x2000,   0x4000,
    0x8000, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000, 0x400000, 0x1000000};

constexpr int kInlineIndexes = 10;
constexpr int kExtraIndexes = 30;
constexpr int kIndexesMax = 64;

constexpr int32_t kNamespaceKeyBytes = 128;  // with NUL
constexpr int32_t kNamespaceBytesMax = 127;
constexpr int32_t kCollectionNamespaceBytesMax = 120;  // leaves room for ".$extra"

enum UserFlags : int32_t { kUsePowerOf2Sizes = 1 };
enum SystemFlags : int32_t { kHasIdIndex = 1 };
constexpr int32_t kNoDocumentLimit = 0x7fffffff;

// A 64-bit field where the layout puts it: slots of the namespace file keep no 8-byte alignment.
template <typename T>
class Unaligned {
  public:
    operator T() const { return get(); }
    T get() const {
        T value;
        std::memcpy(&value, bytes_, sizeof value);
        return value;
    }
    Unaligned& operator=(T value) {
        std::memcpy(bytes_, &value, sizeof value);
        return *this;
    }
    Unaligned& operator+=(T value) { return *this = get() + value; }
    Unaligned& operator-=(T value) { return *this = get() - value; }
    Unaligned& operator|=(T value) { return *this = get() | value; }

  private:
    uint8_t bytes_[sizeof(T)];
};

#pragma pack(push, 1)

// First bytes of <db>.N (mmapv1 spec 2.1).
struct DataFileHeader {
    int32_t version;          // 0   0 = preallocated, not part of the database yet
    int32_t version_minor;    // 4
    int32_t file_length;      // 8
    DiskLoc unused;           // 12  start of the never-allocated tail
    int32_t unused_length;    // 20  unused.offset + unused_length + 16 == file_length
    DiskLoc free_list_start;  // 24  meaningful in file 0 only; (0,0) reads as empty
    DiskLoc free_list_end;    // 32
    uint8_t reserved[8152];   // 40
};

// Head of an extent (mmapv1 spec 4.2).
struct ExtentHeader {
    uint32_t magic;           // 0
    DiskLoc my_loc;           // 4
    DiskLoc next;             // 12
    DiskLoc prev;             // 20
    char ns_diagnostic[128];  // 28  informational, may be stale
    int32_t length;           // 156 header included
    DiskLoc first_record;     // 160 both null or both not
    DiskLoc last_record;      // 168
};

// Head of a live record; the data follows (mmapv1 spec 5.1). Links stay within the extent, -1 =
// none.
struct RecordHeader {
    int32_t length;         // 0   header included, multiple of 4
    int32_t extent_offset;  // 4
    int32_t next_offset;    // 8
    int32_t prev_offset;    // 12

    uint8_t* data() { return reinterpret_cast<uint8_t*>(this) + sizeof *this; }
    const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(this) + sizeof *this; }
    int32_t data_bytes() const { return length - static_cast<int32_t>(sizeof *this); }
};

// The same bytes once the record is free (mmapv1 spec 5.2).
struct DeletedRecord {
    int32_t length;         // 0
    int32_t extent_offset;  // 4
    DiskLoc next;           // 8
    uint32_t marker;        // 16  lies in the old data
};

struct IndexDetails {
    DiskLoc head;  // 0   root bucket
    DiskLoc info;  // 8   document in system.indexes
};

// Value of a slot of the namespace file (mmapv1 spec 3.4).
struct NamespaceDetails {
    DiskLoc first_extent;                  // 0
    DiskLoc last_extent;                   // 8
    DiskLoc deleted_list[kDeletedLists];   // 16  capped: [0] and [1] only (mmapv1 spec 5.8)
    Unaligned<int64_t> data_bytes;         // 168 sum of record lengths without headers
    Unaligned<int64_t> record_count;       // 176
    int32_t last_extent_bytes;             // 184
    int32_t index_count;                   // 188 completed ones
    IndexDetails indexes[kInlineIndexes];  // 192
    int32_t is_capped;                     // 352
    int32_t max_documents;                 // 356 capped; kNoDocumentLimit or <= 0: none
    Unaligned<double> padding_factor;      // 360 0.0 in very old files
    int32_t system_flags;                  // 368
    DiskLoc cap_extent;                    // 372
    DiskLoc cap_first_new;                 // 380
    uint16_t data_file_version;            // 388
    uint16_t index_file_version;           // 390
    Unaligned<uint64_t> multikey_bits;     // 392
    Unaligned<uint64_t> reserved_a;        // 400
    Unaligned<int64_t> extra_offset;       // 408 from the start of this value
    int32_t index_builds;                  // 416 unfinished slots behind the completed ones
    int32_t user_flags;                    // 420
    DiskLoc deleted_list_large[8];         // 424 3.0 only (mmapv1 spec 5.9)
    uint8_t reserved[8];                   // 488
};

// Value of "<ns>$extra" and "<ns>$extrb": slots 10..39 and 40..63 (mmapv1 spec 3.5).
struct ExtraBlock {
    Unaligned<int64_t> next;              // 0   from the start of the base value
    IndexDetails indexes[kExtraIndexes];  // 8
    uint32_t reserved[2];                 // 488
};

// One slot of the namespace file's hash table (mmapv1 spec 3.2).
struct NamespaceSlot {
    int32_t hash;                  // 0   0 = free
    char key[kNamespaceKeyBytes];  // 4
    union {                        // 132
        NamespaceDetails details;
        ExtraBlock extra;
    };

    std::string_view name() const { return {key, strnlen(key, sizeof key)}; }
};

#pragma pack(pop)

static_assert(sizeof(DataFileHeader) == kDataFileHeaderBytes);
static_assert(offsetof(DataFileHeader, unused) == 12);
static_assert(offsetof(DataFileHeader, free_list_start) == 24);
static_assert(sizeof(ExtentHeader) == kExtentHeaderBytes);
static_assert(offsetof(ExtentHeader, ns_diagnostic) == 28);
static_assert(offsetof(ExtentHeader, length) == 156);
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes);
static_assert(offsetof(DeletedRecord, marker) == 16);
static_assert(sizeof(IndexDetails) == 16);
static_assert(sizeof(NamespaceDetails) == 496);
static_assert(offsetof(NamespaceDetails, data_bytes) == 168);
static_assert(offsetof(NamespaceDetails, indexes) == 192);
static_assert(offsetof(NamespaceDetails, is_capped) == 352);
static_assert(offsetof(NamespaceDetails, cap_extent) == 372);
static_assert(offsetof(NamespaceDetails, multikey_bits) == 392);
static_assert(offsetof(NamespaceDetails, user_flags) == 420);
static_assert(offsetof(NamespaceDetails, deleted_list_large) == 424);
static_assert(sizeof(ExtraBlock) == sizeof(NamespaceDetails));
static_assert(offsetof(ExtraBlock, indexes) == 8);
static_assert(sizeof(NamespaceSlot) == 628);
static_assert(offsetof(NamespaceSlot, details) == 132);

// A record and the free region that it becomes say in the same places where they lie.
static_assert(offsetof(DeletedRecord, length) == offsetof(RecordHeader, length));
static_assert(offsetof(DeletedRecord, extent_offset) == offsetof(RecordHeader, extent_offset));
// Whatever is left of a region can be one; so can a record of any length that is a multiple of 4.
static_assert(sizeof(DeletedRecord) <= kMinRemainderBytes && kMinRemainderBytes % 4 == 0);
static_assert(sizeof(DeletedRecord) == kRecordHeaderBytes + 4);
// Records begin at multiples of 4, and an extent has space for one.
static_assert(kDataFileHeaderBytes % 4 == 0 && kDataFileTrailerBytes % 4 == 0);
static_assert(kExtentHeaderBytes % 4 == 0 && kRecordHeaderBytes % 4 == 0);
static_assert(kMinExtentBytes % 4 == 0);
static_assert(kMinExtentBytes >= kExtentHeaderBytes + kRecordHeaderBytes + kMinRemainderBytes);
// Fields that are declared as one range lie together.
static_assert(offsetof(DataFileHeader, unused_length) ==
              offsetof(DataFileHeader, unused) + sizeof(DiskLoc));
static_assert(offsetof(ExtentHeader, last_record) ==
              offsetof(ExtentHeader, first_record) + sizeof(DiskLoc));
static_assert(offsetof(NamespaceDetails, deleted_list) == 2 * sizeof(DiskLoc));
static_assert(offsetof(NamespaceDetails, record_count) ==
              offsetof(NamespaceDetails, data_bytes) + sizeof(int64_t));
static_assert(offsetof(NamespaceDetails, cap_first_new) ==
              offsetof(NamespaceDetails, cap_extent) + sizeof(DiskLoc));
// Names and slots of indexes.
static_assert(kNamespaceBytesMax == kNamespaceKeyBytes - 1);
static_assert(kCollectionNamespaceBytesMax + std::string_view(".$extra").size() <=
              kNamespaceBytesMax);
static_assert(sizeof(ExtentHeader::ns_diagnostic) == kNamespaceKeyBytes);
static_assert(kInlineIndexes + kExtraIndexes < kIndexesMax);
static_assert(kInlineIndexes + 2 * kExtraIndexes >= kIndexesMax);
static_assert(8 * sizeof(NamespaceDetails::multikey_bits) == kIndexesMax);

// The deleted list a free region of that size belongs in (mmapv1 spec 5.4 rule 1).
constexpr int deleted_list_of(int32_t bytes) {
    if (bytes < kListBounds[0]) return 0;
    if (bytes >= kListBounds[kDeletedLists - 2]) return kDeletedLists - 1;
    return 31 - __builtin_clz(static_cast<uint32_t>(bytes)) - 4;
}
static_assert(deleted_list_of(kListBounds[0] - 1) == 0 && deleted_list_of(kListBounds[0]) == 1);
static_assert(deleted_list_of(kListBounds[9] - 1) == 9 && deleted_list_of(kListBounds[9]) == 10);
static_assert(deleted_list_of(kListBounds[kDeletedLists - 2] - 1) == kDeletedLists - 2);
static_assert(deleted_list_of(kListBounds[kDeletedLists - 2]) == kDeletedLists - 1);

// A name with '$' is an index, an extra block or $freelist, not a collection; the exception is the
// master's operation log (mmapv1 spec 1.1 rule 6).
constexpr std::string_view kMasterLog = "local.oplog.$main";
inline bool is_special_namespace(std::string_view ns) {
    return ns.find('$') != ns.npos && ns != kMasterLog;
}

// Blocks of further indexes are no namespaces and have no dot before their '$', but for those of
// the operation log.
inline bool is_extra_block(std::string_view ns) {
    if (ns.starts_with(kMasterLog)) ns.remove_prefix(kMasterLog.size());
    return is_special_namespace(ns) && ns.find(".$") == ns.npos;
}

}  // namespace mmapv1
