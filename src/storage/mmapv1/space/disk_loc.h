// storage/mmapv1/space/disk_loc.h - where something lies in a database: file number and byte offset
// (mmapv1 spec 4.1).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "storage/record_store.h"

namespace mmapv1 {

#pragma pack(push, 1)
struct DiskLoc {
    int32_t file = -1;
    int32_t offset = 0;

    static constexpr DiskLoc null() { return {-1, 0}; }
    static constexpr DiskLoc invalid() { return {-2, 0}; }  // "not computed"
    constexpr bool is_null() const { return file == -1; }
    constexpr bool is_valid() const { return file >= 0; }
    constexpr bool operator==(const DiskLoc&) const = default;
    constexpr auto operator<=>(const DiskLoc&) const = default;

    storage::RecordId id() const {
        return is_valid()
                   ? storage::RecordId{static_cast<uint64_t>(static_cast<uint32_t>(file)) << 32 |
                                       static_cast<uint32_t>(offset)}
                   : storage::RecordId{};
    }
    static DiskLoc from(storage::RecordId id) {
        if (id.is_null()) return null();
        return {static_cast<int32_t>(id.value >> 32), static_cast<int32_t>(id.value)};
    }
};
#pragma pack(pop)
static_assert(sizeof(DiskLoc) == 8);
static_assert(DiskLoc::null().is_null() && !DiskLoc::null().is_valid());
static_assert(!DiskLoc::invalid().is_null() && !DiskLoc::invalid().is_valid());

// "file:hexoffset", as server output shows it.
std::string to_string(DiskLoc loc);

}  // namespace mmapv1
