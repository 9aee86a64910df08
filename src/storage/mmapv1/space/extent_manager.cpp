#include "storage/mmapv1/space/extent_manager.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "storage/mmapv1/space/checked.h"

namespace mmapv1 {

namespace {

constexpr int64_t kExtentUnit = 4096;
constexpr int32_t kFastGrowthLimit = 4000000;   // below this, an extent is four times the last one
constexpr int32_t kAlignedRegionBytes = 32768;  // index extents from here on start page-aligned
constexpr int kNewFilesMax = 8;
static_assert(kMinExtentBytes % kExtentUnit == 0);
static_assert(kAlignedRegionBytes > kExtentUnit);  // of which aligning takes less than one

}  // namespace

int32_t round_extent(int64_t bytes, int32_t max_extent) {
    DCHECK(max_extent >= kMinExtentBytes && max_extent % 4 == 0);
    if (bytes >= max_extent) return max_extent;
    if (bytes <= kMinExtentBytes) return kMinExtentBytes;
    const int64_t rounded = (bytes + kExtentUnit - 1) / kExtentUnit * kExtentUnit;
    return static_cast<int32_t>(std::min<int64_t>(rounded, max_extent));
}

int32_t initial_extent(int64_t record_bytes, int32_t max_extent) {
    return round_extent(record_bytes * (record_bytes < 1000 ? 64 : 16), max_extent);
}

int32_t next_extent(int64_t record_bytes, int32_t last, int32_t max_extent) {
    const int64_t grown =
        last < kFastGrowthLimit ? int64_t{last} * 4 : static_cast<int64_t>(last * 1.35);
    return round_extent(std::max<int64_t>(initial_extent(record_bytes, max_extent), grown),
                        max_extent);
}

DiskLoc ExtentManager::allocate(std::string_view ns, int64_t bytes, bool capped) {
    const int32_t max_extent = files_.policy().max_extent_bytes();
    DiskLoc loc = take_free(static_cast<int32_t>(std::min<int64_t>(bytes, max_extent)), capped);
    int32_t length;
    if (loc.is_valid()) {
        length = files_.extent(loc).length;
    } else {
        length = round_extent(bytes, max_extent);
        loc = take_new(length);
    }
    initialise(loc, ns, length);
    DCHECK(checked_extent(files_, loc));
    return loc;
}

DiskLoc ExtentManager::take_new(int32_t bytes) {
    for (int added = 0;; added++) {
        for (int n = files_.count() - 1; n >= 0; n--)
            if (files_.header(n).unused_length >= bytes) return files_.take_tail(n, bytes);
        if (added == kNewFilesMax)
            base::fail(base::kInternalError, "cannot make room for an extent of {} bytes in {}",
                       bytes, files_.db());
        files_.add_file(bytes);
    }
}

// The member of the free list whose length is closest to the wanted one, within bounds (mmapv1
// spec 4.4 rule 1).
DiskLoc ExtentManager::take_free(int32_t bytes, bool capped) {
    int64_t low = static_cast<int64_t>(bytes * 0.8);
    int64_t high = static_cast<int64_t>(bytes * 1.4);
    if (capped) {
        low = bytes > 2048 ? bytes - 256 : bytes;
        high = static_cast<int64_t>(bytes * 1.05) + 256;
    }
    high = std::max<int64_t>(high, kMinExtentBytes + 1);
    DiskLoc best = DiskLoc::null();
    int64_t best_distance = INT64_MAX;
    int64_t visited = 0;
    DiskLoc before = DiskLoc::null();
    for (DiskLoc at = free_list_head(); at.is_valid(); before = at, at = files_.extent(at).next) {
        check_chain_length(++visited);
        // The extents behind an invalid one were not examined when the database was opened.
        if (!checked_extent(files_, at) || files_.extent(at).prev != before)
            files_.damaged(at, "the list of free extents is broken");
        const int64_t length = files_.extent(at).length;
        if (length < low || length > high) continue;
        const int64_t distance = std::llabs(length - bytes);
        if (distance >= best_distance) continue;
        best = at;
        best_distance = distance;
        if (distance * 10 < bytes) break;
    }
    if (!best.is_valid()) return best;

    // The one behind it changes with it, and may not have been reached yet.
    const DiskLoc behind = files_.extent(best).next;
    if (!behind.is_null() &&
        (!checked_extent(files_, behind) || files_.extent(behind).prev != best))
        files_.damaged(best, "the list of free extents is broken");
    SpaceViews& views = files_.views();
    const ExtentHeader& extent = files_.extent(best);
    DataFileHeader& header = files_.header(0);
    if (extent.prev.is_null())
        views.writing(header.free_list_start) = extent.next;
    else
        views.writing(files_.extent(extent.prev).next) = extent.next;
    if (extent.next.is_null())
        views.writing(header.free_list_end) = extent.prev;
    else
        views.writing(files_.extent(extent.next).prev) = extent.prev;
    DCHECK(free_list_head() != best);
    return best;
}

void ExtentManager::free_chain(DiskLoc first, DiskLoc last) {
    if (is_plausible_chain(first, last))
        put_in_front(first, last);
    else
        give_up_chain(first, last);
}

void ExtentManager::give_up_chain(DiskLoc first, DiskLoc last) const {
    base::log::warning(
        "database {}: the chain of extents from {} to {} is broken; its space is given up",
        files_.db(), to_string(first), to_string(last));
}

void ExtentManager::put_in_front(DiskLoc first, DiskLoc last) {
    SpaceViews& views = files_.views();
    DataFileHeader& header = files_.header(0);
    const DiskLoc head = free_list_head();
    if (!head.is_null() && !checked_extent(files_, head))
        files_.damaged(head, "the list of free extents is broken");
    DCHECK(head != first);
    int64_t count = 0;
    for (DiskLoc at = first;; at = files_.extent(at).next) {
        DCHECK(checked_extent(files_, at));
        files_.clear_checked(at, files_.extent(at).length);
        check_chain_length(++count);
        if (at == last) break;
    }
    views.writing(files_.extent(first).prev) = DiskLoc::null();
    views.writing(files_.extent(last).next) = head;
    if (head.is_null())
        views.writing(header.free_list_end) = last;
    else
        views.writing(files_.extent(head).prev) = last;
    views.writing(header.free_list_start) = first;
}

void ExtentManager::initialise(DiskLoc loc, std::string_view ns, int32_t length) {
    if (files_.in_checked(loc, length)) files_.damaged(loc, "an index lies in a free extent");
    ExtentHeader& extent = files_.views().writing(files_.extent(loc));
    extent.magic = kExtentMagic;
    extent.my_loc = loc;
    extent.next = extent.prev = DiskLoc::null();
    std::memset(extent.ns_diagnostic, 0, sizeof extent.ns_diagnostic);
    std::memcpy(extent.ns_diagnostic, ns.data(),
                std::min(ns.size(), sizeof extent.ns_diagnostic - 1));
    extent.length = length;
    extent.first_record = extent.last_record = DiskLoc::null();
}

void ExtentManager::data_region(DiskLoc loc, int32_t length, bool aligned, DiskLoc* start,
                                int32_t* bytes) {
    DCHECK(loc.is_valid() && length >= kMinExtentBytes);
    int32_t offset = loc.offset + kExtentHeaderBytes;
    if (aligned && length - kExtentHeaderBytes >= kAlignedRegionBytes)
        offset = (offset + 4095) / 4096 * 4096;
    *start = {loc.file, offset};
    *bytes = loc.offset + length - offset;
    DCHECK(*bytes >= kMinRemainderBytes && *bytes <= length - kExtentHeaderBytes);
}

DiskLoc ExtentManager::free_list_head() const {
    if (files_.count() == 0) return DiskLoc::null();
    const DiskLoc head = files_.header(0).free_list_start;
    return head == DiskLoc{0, 0} ? DiskLoc::null() : head;
}

int64_t ExtentManager::free_count(int64_t* total_bytes) const {
    int64_t count = 0;
    *total_bytes = 0;
    for (DiskLoc at = free_list_head(); at.is_valid(); at = files_.extent(at).next) {
        check_chain_length(++count);
        *total_bytes += std::max(files_.extent(at).length, 0);
    }
    return count;
}

// No links that lead nowhere, into a circle, or to an end that does not know the way back.
bool ExtentManager::is_plausible_chain(DiskLoc first, DiskLoc last) const {
    const int64_t most = files_.total_bytes() / kMinExtentBytes;
    int64_t count = 0;
    DiskLoc before = DiskLoc::null();
    for (DiskLoc at = first; !at.is_null(); at = files_.extent(at).next) {
        if (!checked_extent(files_, at) || files_.extent(at).prev != before || ++count > most)
            return false;
        before = at;
    }
    return before == last;
}

bool ExtentManager::free_list_is_valid() const {
    const DiskLoc head = free_list_head();
    const DiskLoc tail = files_.header(0).free_list_end;
    return is_plausible_chain(head,
                              head.is_null() && tail == DiskLoc{0, 0} ? DiskLoc::null() : tail);
}

void ExtentManager::forget_free_list() {
    DataFileHeader& header = files_.header(0);
    files_.views().writing(header.free_list_start) = DiskLoc::null();
    files_.views().writing(header.free_list_end) = DiskLoc::null();
}

void ExtentManager::check_chain_length(int64_t count) const {
    if (count > files_.total_bytes() / kMinExtentBytes)
        base::fail(base::Damaged{base::kInternalError},
                   "database {} is damaged: a chain of extents runs in a circle; check it with "
                   "dbpath_check",
                   files_.db());
}

void ExtentManager::expect_shared(std::set<std::string> namespaces) {
    shared_ = std::move(namespaces);
    shared_left_ = 2 * (files_.total_bytes() / kMinExtentBytes);
}

OwnExtents ExtentManager::own_extents(const std::string& ns, DiskLoc first) {
    int64_t most = files_.total_bytes() / kMinExtentBytes;
    return OwnExtents(files_, first, shared_.contains(ns) ? &shared_left_ : &most);
}

void ExtentManager::repair_headers() {
    for (int n = 0; n < files_.count(); n++) {
        DataFileHeader& header = files_.header(n);
        for (DiskLoc* end : {&header.free_list_start, &header.free_list_end})
            if (*end == DiskLoc{0, 0}) *files_.views().writing(end) = DiskLoc::null();
    }
}

}  // namespace mmapv1
