// storage/mmapv1/btree/layout.h - the bytes of a v:1 B-tree bucket (mmapv1 spec 6.4, example 11.4).
//
//   0   header (22 bytes)
//   22  key nodes, 16 bytes each, sorted, growing upwards
//       hole of emptySize bytes
//       key data, topSize bytes, growing downwards from the end of the bucket
//
// "Body" is what follows the header; key data is addressed from its start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/mmapv1/btree/bucket_store.h"
#include "storage/mmapv1/space/disk_loc.h"

namespace mmapv1 {

#pragma pack(push, 1)

// A DiskLoc in 7 bytes: offset, then a 24-bit file number.
struct Loc7 {
    int32_t offset;
    uint8_t file[3];

    static constexpr Loc7 null() { return {-2, {0, 0, 0}}; }
    static constexpr Loc7 from(DiskLoc loc) {
        if (!loc.is_valid()) return null();
        const auto f = static_cast<uint32_t>(loc.file);
        return {
            loc.offset,
            {static_cast<uint8_t>(f), static_cast<uint8_t>(f >> 8), static_cast<uint8_t>(f >> 16)}};
    }
    constexpr int32_t file_number() const { return file[0] | file[1] << 8 | file[2] << 16; }
    constexpr bool is_null() const { return offset < 0; }
    constexpr DiskLoc loc() const {
        return is_null() ? DiskLoc::null() : DiskLoc{file_number(), offset};
    }
    constexpr bool operator==(const Loc7&) const = default;
};

struct BucketHeader {
    Loc7 parent;      // null in the root
    Loc7 next_child;  // right of the last key
    uint16_t flags;   // kPacked
    uint16_t empty;   // bytes of the hole
    uint16_t top;     // bytes of key data, dead ones included
    uint16_t n;       // keys; kFreedBucket in a freed bucket
};

struct KeyNode {
    Loc7 prev_child;    // subtree left of this key
    Loc7 record;        // document; kUnusedBit of the offset marks an unused entry
    uint16_t key_data;  // start of the key, from the start of the body
};

#pragma pack(pop)

static_assert(sizeof(Loc7) == 7);
static_assert(sizeof(BucketHeader) == 22);
static_assert(sizeof(KeyNode) == 16);
static_assert(offsetof(BucketHeader, next_child) == 7 && offsetof(BucketHeader, n) == 20);
static_assert(offsetof(KeyNode, record) == 7 && offsetof(KeyNode, key_data) == 14);
// The counters are declared as one range, with or without the flags before them.
static_assert(offsetof(BucketHeader, empty) - offsetof(BucketHeader, flags) == sizeof(uint16_t));
static_assert(offsetof(BucketHeader, n) - offsetof(BucketHeader, empty) == 2 * sizeof(uint16_t));
static_assert(Loc7::null().is_null() && Loc7::from(DiskLoc::null()) == Loc7::null());
static_assert(Loc7::from({70'000, 0x7ffffffc}).loc() == DiskLoc{70'000, 0x7ffffffc});

constexpr uint16_t kPacked = 1;  // no dead bytes among the key data
constexpr uint16_t kFreedBucket = 0xffff;
constexpr int32_t kUnusedBit = 1;
constexpr int kBodyBytes = kBucketBytes - static_cast<int>(sizeof(BucketHeader));
constexpr int kNodeBytes = sizeof(KeyNode);
// Levels of a tree: more than any that fits its files has. Damaged links make deeper ones.
constexpr int kTreeDepthMax = 64;
constexpr int kBucketKeysMax = kBodyBytes / (kNodeBytes + 1);
static_assert(kBodyBytes == 8154);
static_assert(kBodyBytes <= UINT16_MAX && kBucketKeysMax < kFreedBucket);
static_assert(kUnusedBit < 4);  // records begin at multiples of 4

// Breaks ties between equal keys: the record's location as an unsigned number, without the unused
// bit.
constexpr uint64_t record_order(Loc7 record) {
    return static_cast<uint64_t>(record.file_number()) << 32 |
           (static_cast<uint32_t>(record.offset) & ~static_cast<uint32_t>(kUnusedBit));
}
constexpr bool is_unused(Loc7 record) {
    return (record.offset & kUnusedBit) != 0;
}

}  // namespace mmapv1
