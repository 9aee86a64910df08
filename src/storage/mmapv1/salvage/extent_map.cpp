#include "storage/mmapv1/salvage/extent_map.h"

#include <algorithm>

#include "base/dcheck.h"

namespace mmapv1 {

namespace {

// Extents of servers before 2.4 begin at multiples of this.
constexpr int64_t kStep = 256;

}  // namespace

ExtentMap::ExtentMap(const RawFiles& files) : files_(files) {
    for (const auto& [number, file] : files.all_data()) {
        for (int64_t at = kDataFileHeaderBytes; at + kExtentHeaderBytes <= file->length();
             at += kStep) {
            RawExtent extent;
            extent.loc = {number, static_cast<int32_t>(at)};
            uint32_t magic = 0;
            if (!file->load(at, &magic) || magic != kExtentMagic) continue;
            if (!file->load(at, &extent.header) || extent.header.my_loc != extent.loc) continue;
            if (extent.header.length < kMinExtentBytes) extent.has_header = false;
            extents_.emplace(extent.loc, extent);
        }
    }
    // A header whose length cannot be says nothing else either.
    std::erase_if(extents_, [](const auto& each) { return !each.second.has_header; });
}

RawExtent* ExtentMap::find(DiskLoc loc) {
    const auto it = extents_.find(loc);
    return it == extents_.end() ? nullptr : &it->second;
}

RawExtent* ExtentMap::add_without_header(DiskLoc loc) {
    const RawFile* file = loc.is_valid() ? files_.data(loc.file) : nullptr;
    if (file == nullptr || loc.offset < kDataFileHeaderBytes || loc.offset % kStep != 0 ||
        loc.offset > file->length() - kExtentHeaderBytes)
        return nullptr;
    const auto behind = extents_.upper_bound(loc);
    if (behind != extents_.begin()) {
        const RawExtent& before = std::prev(behind)->second;
        if (before.loc == loc) return nullptr;
        const int64_t end = int64_t{before.loc.offset} + before.header.length;
        const bool plausible_length = before.has_header && end <= limit(before.loc);
        if (before.loc.file == loc.file && plausible_length && end > loc.offset) return nullptr;
    }
    DCHECK(!extents_.contains(loc));
    RawExtent extent;
    extent.loc = loc;
    extent.has_header = false;
    return &extents_.emplace(loc, extent).first->second;
}

int32_t ExtentMap::limit(DiskLoc loc) const {
    const auto behind = extents_.upper_bound(loc);
    if (behind != extents_.end() && behind->first.file == loc.file) return behind->first.offset;
    DCHECK(files_.data(loc.file) != nullptr);
    return static_cast<int32_t>(files_.data(loc.file)->length());
}

std::string name_in_header(const ExtentHeader& header) {
    const size_t size = strnlen(header.ns_diagnostic, sizeof header.ns_diagnostic);
    std::string name(header.ns_diagnostic, size);
    const bool printable = std::ranges::none_of(
        name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    const size_t dot = name.find('.');
    if (size == sizeof header.ns_diagnostic || !printable || dot == 0 || dot == std::string::npos ||
        dot + 1 == size)
        return {};
    return name;
}

}  // namespace mmapv1
