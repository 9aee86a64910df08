#include "storage/mmapv1/space/namespace_storage.h"

#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "storage/metrics.h"
#include "storage/mmapv1/space/checked.h"
#include "storage/space_request.h"

namespace mmapv1 {

namespace {

constexpr int kMembersAfterFit = 4;    // examined for a closer fit once one is in hand
constexpr int kVisitsPerStretch = 30;  // then the next list, which has larger members
constexpr int32_t kLargestQuantum = 262144;
static_assert(kLargestQuantum == kListBounds[kDeletedLists - 2] / 16);
static_assert(kListBounds[0] / 16 > 0);

}  // namespace

int32_t quantised_record(int32_t bytes) {
    const int list = deleted_list_of(bytes);
    const int32_t quantum = list == kDeletedLists - 1 ? kLargestQuantum : kListBounds[list] / 16;
    DCHECK(bytes > 0 && bytes <= INT_MAX - quantum);
    return (bytes + quantum - 1) / quantum * quantum;
}

NamespaceStorage::NamespaceStorage(ExtentManager& extents, NamespaceDetails& details,
                                   std::string ns)
    : extents_(extents),
      files_(extents.files()),
      views_(files_.views()),
      details_(&details),
      own_(extents.own_extents(ns, details.first_extent)),
      ns_(std::move(ns)),
      special_(is_special_namespace(ns_)) {}

void NamespaceStorage::rebind(NamespaceDetails& details, std::string ns) {
    details_ = &details;
    ns_ = std::move(ns);
    DCHECK(is_special_namespace(ns_) == special_);
}

DiskLoc NamespaceStorage::add_extent(int64_t bytes) {
    Region region;
    const DiskLoc loc = append_extent(bytes, &region);
    give(region.loc, region.length, region.extent_offset);
    return loc;
}

DiskLoc NamespaceStorage::append_extent(int64_t bytes, Region* region) {
    storage::ask_for_space();
    NamespaceDetails& d = *details_;
    if (d.first_extent.is_valid() != d.last_extent.is_valid() ||
        (d.last_extent.is_valid() &&
         (!is_own_extent(d.last_extent) || files_.extent(d.last_extent).next.is_valid())))
        files_.damaged(d.last_extent, "the last extent of a namespace is none");
    own_.reserve_one();
    const DiskLoc loc = extents_.allocate(ns_, bytes, d.is_capped != 0);
    ExtentHeader& extent = files_.extent(loc);  // declared by allocate()
    DCHECK(extent.next.is_null() && extent.prev.is_null() && extent.first_record.is_null());
    views_.declare(&d, offsetof(NamespaceDetails, deleted_list));
    if (d.last_extent.is_valid()) {
        views_.writing(files_.extent(d.last_extent).next) = loc;
        extent.prev = d.last_extent;
    } else {
        d.first_extent = loc;
        views_.writing(d.cap_extent) = loc;
    }
    d.last_extent = loc;
    own_.add(loc, extent.length);
    if (files_.bucket_views().keeps_undo())
        files_.bucket_views().on_undo([this, loc] { own_.remove(loc); });
    views_.writing(d.last_extent_bytes) = extent.length;
    ExtentManager::data_region(loc, extent.length, special_ && d.is_capped == 0, &region->loc,
                               &region->length);
    region->extent_offset = loc.offset;
    return loc;
}

void NamespaceStorage::release_extents() {
    NamespaceDetails& d = *details_;
    if (d.first_extent.is_valid()) {
        if (own_.are_chain(files_, d.first_extent))
            extents_.free_chain(d.first_extent, d.last_extent);
        else
            extents_.give_up_chain(d.first_extent, d.last_extent);
    }
    views_.declare(&d, offsetof(NamespaceDetails, deleted_list));
    d.first_extent = d.last_extent = DiskLoc::invalid();
    own_.clear();
}

void NamespaceStorage::release_extent(DiskLoc loc) {
    NamespaceDetails& d = *details_;
    const ExtentHeader& extent = files_.extent(loc);
    if (!is_own_extent(loc) ||
        (!extent.prev.is_null() &&
         (!is_own_extent(extent.prev) || files_.extent(extent.prev).next != loc)) ||
        (!extent.next.is_null() &&
         (!is_own_extent(extent.next) || files_.extent(extent.next).prev != loc)))
        files_.damaged(loc, "a chain of extents is broken");
    views_.declare(&d, offsetof(NamespaceDetails, deleted_list));
    if (extent.prev.is_null())
        d.first_extent = extent.next;
    else
        views_.writing(files_.extent(extent.prev).next) = extent.next;
    if (extent.next.is_null())
        d.last_extent = extent.prev;
    else
        views_.writing(files_.extent(extent.next).prev) = extent.prev;
    DCHECK(extent.first_record.is_null());
    extents_.free_extent(loc);
    own_.remove(loc);
}

bool NamespaceStorage::is_own_extent(DiskLoc loc) const {
    return own_.has(loc) && checked_extent(files_, loc);
}

int64_t NamespaceStorage::storage_bytes(int32_t* count) const {
    int64_t sum = 0;
    *count = 0;
    for (DiskLoc at = details_->first_extent; at.is_valid(); at = files_.extent(at).next) {
        sum += files_.extent(at).length;
        extents_.check_chain_length(++*count);
    }
    return sum;
}

ExtentHeader& NamespaceStorage::checked_extent_at(DiskLoc loc, int64_t n) const {
    extents_.check_chain_length(n);
    if (!checked_extent(files_, loc))
        files_.damaged(loc, "a chain of extents leads to what is none");
    return files_.extent(loc);
}

ExtentHeader& NamespaceStorage::own_extent_at(DiskLoc loc, int64_t n) const {
    ExtentHeader& extent = checked_extent_at(loc, n);
    if (!own_.has(loc)) files_.damaged(loc, "a chain of extents leads to another namespace's");
    return extent;
}

RecordHeader& NamespaceStorage::checked_live(DiskLoc loc) const {
    RecordHeader& record = files_.record(loc);
    const DiskLoc extent{loc.file, record.extent_offset};
    if (!is_own_extent(extent) || !checked_record(files_, loc, extent))
        files_.damaged(loc, "a record has no place in an extent");
    return record;
}

void NamespaceStorage::check_free(DiskLoc loc) const {
    const DeletedRecord& record = files_.deleted(loc);
    const DiskLoc extent{loc.file, record.extent_offset};
    if (!is_own_extent(extent) || !checked_record(files_, loc, extent))
        files_.damaged(loc, "a list of free records leads to what is none");
}

void NamespaceStorage::link(DiskLoc loc, RecordHeader& record) {
    const DiskLoc extent_loc{loc.file, record.extent_offset};
    DCHECK(own_.has(extent_loc) && checked_record(files_, loc, extent_loc));
    ExtentHeader& extent = files_.extent(extent_loc);
    if (!extent.last_record.is_null() && !checked_record(files_, extent.last_record, extent_loc))
        files_.damaged(extent.last_record, "the last record of an extent is none");
    record.next_offset = -1;
    if (extent.last_record.is_null()) {
        record.prev_offset = -1;
        views_.declare(&extent.first_record, 2 * sizeof(DiskLoc));
        extent.first_record = extent.last_record = loc;
    } else {
        record.prev_offset = extent.last_record.offset;
        views_.writing(files_.record(extent.last_record).next_offset) = loc.offset;
        views_.writing(extent.last_record) = loc;
    }
    views_.declare(&details_->data_bytes, 2 * sizeof(int64_t));
    details_->data_bytes += record.data_bytes();
    details_->record_count += 1;
}

void NamespaceStorage::unlink(DiskLoc loc) {
    const RecordHeader& record = checked_live(loc);
    if (!is_live_record(files_, loc)) files_.damaged(loc, "the chain of records is broken");
    ExtentHeader& extent = files_.extent({loc.file, record.extent_offset});
    const DiskLoc next =
        record.next_offset == -1 ? DiskLoc::null() : DiskLoc{loc.file, record.next_offset};
    const DiskLoc prev =
        record.prev_offset == -1 ? DiskLoc::null() : DiskLoc{loc.file, record.prev_offset};
    if (prev.is_null())
        views_.writing(extent.first_record) = next;
    else
        views_.writing(files_.record(prev).next_offset) = record.next_offset;
    if (next.is_null())
        views_.writing(extent.last_record) = prev;
    else
        views_.writing(files_.record(next).prev_offset) = record.prev_offset;
    views_.declare(&details_->data_bytes, 2 * sizeof(int64_t));
    details_->data_bytes -= record.data_bytes();
    details_->record_count -= 1;
}

Region NamespaceStorage::take(int32_t bytes) {
    DCHECK(bytes > kRecordHeaderBytes);
    bytes = round_record(bytes);
    Region region;
    while (!search(bytes, &region))
        add_extent_for(bytes);
    const int32_t left = region.length - bytes;
    if (left < kMinRemainderBytes || left < bytes >> 3) return unshared(region);
    int32_t used = bytes;
    if (!special_) {
        used = std::min(region.length, quantised_record(bytes));
        if (region.length - used < kMinRemainderBytes) return unshared(region);
    }
    give({region.loc.file, region.loc.offset + used}, region.length - used, region.extent_offset);
    region.length = used;
    DCHECK(region.length >= bytes && region.length % 4 == 0);
    return unshared(region);
}

const Region& NamespaceStorage::unshared(const Region& region) const {
    DCHECK(own_.hold(region.loc, region.length));
    if (files_.in_checked(region.loc, region.length))
        files_.damaged(region.loc, "a list of free records leads into an index");
    return region;
}

void NamespaceStorage::add_extent_for(int32_t bytes) {
    const int32_t max_extent = files_.policy().max_extent_bytes();
    if (bytes > max_extent - kExtentHeaderBytes)
        base::fail(base::kInternalError, "a record of {} bytes fits no extent", bytes);
    add_extent(next_extent(bytes, details_->last_extent_bytes, max_extent));
}

void NamespaceStorage::reserve(int32_t bytes, int regions) {
    DCHECK(bytes > kRecordHeaderBytes && regions > 0);
    bytes = round_record(bytes);
    while (!holds(bytes, regions))
        add_extent_for(bytes);
}

// Counts no more than search() is sure to examine.
bool NamespaceStorage::holds(int32_t bytes, int regions) const {
    int64_t found = 0;
    for (int list = deleted_list_of(bytes); list < kDeletedLists; list++) {
        DiskLoc at = details_->deleted_list[list];
        for (int visited = 0; at.is_valid() && visited < kVisitsPerStretch; visited++) {
            const DeletedRecord& candidate = files_.deleted(at);
            found += std::max(candidate.length, 0) / bytes;
            if (found >= regions) return true;
            at = candidate.next;
        }
    }
    return false;
}

// Which member is taken is semantics 6 rule 2: first fit upwards from the list of the wanted size,
// then a limited look for a closer one. A search that has been at it for long gives up a list as if
// it ended there.
bool NamespaceStorage::search(int32_t bytes, Region* region) {
    DiskLoc* best_link = nullptr;
    DiskLoc before_best = DiskLoc::null();  // whose link that is; null: the list's head
    int32_t best_length = INT_MAX;
    int after_fit = 0;
    int visited = 0;
    int64_t scanned = 0;
    storage::FreeSpaceSearches& counts = storage::free_space_searches();
    counts.requests.fetch_add(1, std::memory_order_relaxed);
    for (int list = deleted_list_of(bytes); list < kDeletedLists && best_link == nullptr; list++) {
        DiskLoc* link = &details_->deleted_list[list];
        DiskLoc before = DiskLoc::null();
        while (link->is_valid()) {
            DeletedRecord& candidate = files_.deleted(*link);
            ++scanned;
            if (candidate.length >= bytes && candidate.length < best_length) {
                best_length = candidate.length;
                best_link = link;
                before_best = before;
                if (best_length == bytes) break;
            }
            if (best_link != nullptr && ++after_fit > kMembersAfterFit) break;
            if (++visited > kVisitsPerStretch) {
                visited = 0;
                counts.exhausted.fetch_add(1, std::memory_order_relaxed);
                break;
            }
            before = *link;
            link = &candidate.next;
        }
    }
    counts.scanned.fetch_add(scanned, std::memory_order_relaxed);
    if (best_link == nullptr) return false;
    check_free(*best_link);
    if (!before_best.is_null()) check_free(before_best);
    const DeletedRecord& found = files_.deleted(*best_link);
    *region = {*best_link, found.length, found.extent_offset};
    DCHECK(region->length >= bytes);
    *views_.writing(best_link) = found.next;
    return true;
}

void NamespaceStorage::give(DiskLoc loc, int32_t length, int32_t extent_offset) {
    DCHECK(length >= static_cast<int32_t>(sizeof(DeletedRecord)) && length % 4 == 0);
    DCHECK(own_.hold(loc, length) && own_.has({loc.file, extent_offset}));
    DiskLoc& head = details_->deleted_list[deleted_list_of(length)];
    DeletedRecord& record = views_.writing(files_.deleted(loc));
    record.length = length;
    record.extent_offset = extent_offset;
    record.next = head;
    record.marker = kDeletedMarker;
    views_.writing(head) = loc;
}

void NamespaceStorage::orphan_deleted() {
    views_.declare(&details_->deleted_list, sizeof details_->deleted_list);
    for (DiskLoc& head : details_->deleted_list)
        head = DiskLoc::null();
}

void NamespaceStorage::regain(DiskLoc extent_loc) {
    DCHECK(is_own_extent(extent_loc));
    const ExtentHeader& extent = files_.extent(extent_loc);
    std::vector<std::pair<int32_t, int32_t>> records;  // where they begin and end
    const auto most = static_cast<size_t>(extent.length) / sizeof(RecordHeader);
    for (DiskLoc at = extent.first_record; !at.is_null();) {
        const RecordHeader& record = checked_live(at);
        if (record.extent_offset != extent_loc.offset || records.size() == most)
            files_.damaged(at, "a chain of records leaves its extent, or runs in a circle");
        records.emplace_back(at.offset, at.offset + record.length);
        at = record.next_offset == -1 ? DiskLoc::null() : DiskLoc{at.file, record.next_offset};
    }
    std::ranges::sort(records);
    DiskLoc free;
    int32_t bytes = 0;
    ExtentManager::data_region(extent_loc, extent.length, special_, &free, &bytes);
    const int32_t end = free.offset + bytes;
    records.emplace_back(end, end);
    for (const auto& [from, to] : records) {
        if (from - free.offset >= kMinRemainderBytes)
            give(free, from - free.offset, extent_loc.offset);
        free.offset = std::max(free.offset, to);
    }
}

}  // namespace mmapv1
