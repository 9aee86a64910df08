#include "storage/mmapv1/space/capped_ring.h"

#include <algorithm>

#include "base/damage.h"
#include "base/dcheck.h"

namespace mmapv1 {

namespace {

constexpr int kTooLargeForCapped = 16328;
// Some 2 s. A valid extent has a few regions, and a document takes the place of less than a
// million.
constexpr int64_t kVisitsMax = 32 << 20;

}  // namespace

bool CappedRing::looped() const {
    return details().cap_first_new != DiskLoc::invalid();
}

int64_t CappedRing::document_limit() const {
    const int32_t limit = details().max_documents;
    return limit <= 0 ? INT64_MAX : limit;
}

DiskLoc& CappedRing::first_of_current() const {
    NamespaceDetails& d = details();
    return d.deleted_list[1].is_valid() ? checked_region(d.deleted_list[1]).next
                                        : d.deleted_list[0];
}

bool CappedRing::in_current(DiskLoc loc) const {
    return loc.is_valid() && loc.file == details().cap_extent.file &&
           files().deleted(loc).extent_offset == details().cap_extent.offset;
}

void CappedRing::check_steps(int64_t steps) const {
    if (steps > files().total_bytes() / kRecordHeaderBytes) damaged("a list runs in a circle");
}

DeletedRecord& CappedRing::checked_region(DiskLoc loc) const {
    storage_.check_free(loc);
    return files().deleted(loc);
}

void CappedRing::add_extent(int64_t bytes) {
    DCHECK(details().is_capped != 0);
    Region region;
    storage_.append_extent(bytes, &region);
    append_region(region);
}

void CappedRing::append_region(const Region& region) {
    NamespaceDetails& d = details();
    DiskLoc* link = &d.deleted_list[0];
    for (int64_t steps = 0; link->is_valid(); check_steps(++steps))
        link = &checked_region(*link).next;
    append_behind(link, region);
    if (d.deleted_list[1] != DiskLoc::invalid())
        storage_.views().writing(d.deleted_list[1]) = DiskLoc::invalid();
}

// Returns the link that is the last one then.
DiskLoc* CappedRing::append_behind(DiskLoc* last, const Region& region) {
    DCHECK(region.length >= kMinRemainderBytes && region.length % 4 == 0);
    DCHECK(storage_.holds_own(region.loc, region.length));
    DeletedRecord& record = storage_.views().writing(files().deleted(region.loc));
    record.length = region.length;
    record.extent_offset = region.extent_offset;
    record.next = DiskLoc::null();
    record.marker = kDeletedMarker;
    *storage_.views().writing(last) = region.loc;
    return &record.next;
}

void CappedRing::convert_ancient() {
    NamespaceDetails& d = details();
    DCHECK(d.is_capped != 0);
    if (d.cap_extent != DiskLoc{0, 0}) return;
    SpaceViews& views = storage_.views();
    DiskLoc* end = &d.deleted_list[0];
    for (int list = 1; list < kDeletedLists; list++) {
        for (int64_t steps = 0; end->is_valid(); check_steps(++steps))
            end = &checked_region(*end).next;
        if (!d.deleted_list[list].is_valid()) continue;
        *views.writing(end) = d.deleted_list[list];
        views.writing(d.deleted_list[list]) = DiskLoc::null();
    }
    views.writing(d.deleted_list[1]) = DiskLoc::null();
    views.declare(&d.cap_extent, 2 * sizeof(DiskLoc));
    d.cap_first_new = DiskLoc::invalid();
    d.cap_extent = d.first_extent;
}

bool CappedRing::fits_somewhere(int32_t bytes) const {
    int64_t steps = 0;
    for (DiskLoc at = details().first_extent; at.is_valid(); at = files().extent(at).next)
        if (storage_.checked_extent_at(at, ++steps).length - kExtentHeaderBytes >=
            bytes + kMinRemainderBytes)
            return true;
    return false;
}

int64_t CappedRing::document_bytes_max() const {
    int64_t bytes = 0;
    int64_t steps = 0;
    for (DiskLoc at = details().first_extent; at.is_valid(); at = files().extent(at).next)
        bytes = std::max<int64_t>(bytes, storage_.checked_extent_at(at, ++steps).length);
    return (bytes - kExtentHeaderBytes - kMinRemainderBytes - kRecordHeaderBytes) & ~int64_t{3};
}

bool CappedRing::take(int32_t bytes, Region* region) {
    NamespaceDetails& d = details();
    DCHECK(d.is_capped != 0 && bytes > kRecordHeaderBytes);
    bytes = round_record(bytes);
    // Every extent keeps a free region (mmapv1 spec 5.8 rule 4); without any, all documents would
    // have to go.
    if (!d.deleted_list[0].is_valid()) damaged("it has no free region");
    int64_t steps_max = 16;
    for (int64_t steps = 0;; ++steps) {
        if (steps == steps_max) {
            int32_t extents = 0;
            storage_.storage_bytes(&extents);
            steps_max = 2 * int64_t{extents} + 2;
            if (steps >= steps_max) damaged("going round twice gives no space");
        }
        if (d.deleted_list[1] == DiskLoc::invalid())
            storage_.views().writing(d.deleted_list[1]) = DiskLoc::null();
        if (d.record_count < document_limit() && search(bytes, region)) return true;
        // Asked once: a ring may have hundreds of thousands of extents that are too small.
        if (steps == 0 && !fits_somewhere(bytes)) {
            int32_t extents;
            if (bytes > storage_.storage_bytes(&extents))
                base::fail(kTooLargeForCapped,
                           "a document of {} bytes is larger than the capped collection {}",
                           bytes - kRecordHeaderBytes, storage_.ns());
            base::fail(base::kInternalError,
                       "a document of {} bytes fits no extent of the capped collection {}",
                       bytes - kRecordHeaderBytes, storage_.ns());
        }
        if (looped() && oldest().is_valid()) return false;
        advance();
    }
}

void CappedRing::damaged(const char* why) const {
    base::fail(base::Damaged{base::kInternalError},
               "capped collection {} is damaged: {}; read what is in it and make it anew",
               storage_.ns(), why);
}

DiskLoc CappedRing::oldest() const {
    const DiskLoc first = files().extent(details().cap_extent).first_record;
    return first == details().cap_first_new ? DiskLoc::null() : first;
}

bool CappedRing::search(int32_t bytes, Region* region) {
    SpaceViews& views = storage_.views();
    DiskLoc& head = first_of_current();
    int64_t steps = 0;
    for (DiskLoc* link = &head; in_current(*link); link = &files().deleted(*link).next) {
        check_steps(++steps);
        const DiskLoc loc = *link;
        const DeletedRecord& found = checked_region(loc);
        if (found.length < bytes + kMinRemainderBytes) continue;
        *region = storage_.unshared({loc, bytes, found.extent_offset});
        const int32_t left = found.length - bytes;
        const DiskLoc next = found.next;
        if (link != &head) *views.writing(link) = next;
        const DiskLoc rest_loc{loc.file, loc.offset + bytes};
        DeletedRecord& rest = views.writing(files().deleted(rest_loc));
        rest.length = left;
        rest.extent_offset = region->extent_offset;
        rest.next = link == &head ? next : head;
        rest.marker = kDeletedMarker;
        views.writing(head) = rest_loc;
        return true;
    }
    return false;
}

void CappedRing::note_inserted(DiskLoc loc) {
    NamespaceDetails& d = details();
    DCHECK(in_current(loc));
    if (d.cap_first_new.is_null()) storage_.views().writing(d.cap_first_new) = loc;
}

// Goes on to the next extent of the ring. From the last one the ring has come round.
void CappedRing::advance() {
    NamespaceDetails& d = details();
    SpaceViews& views = storage_.views();
    const bool wraps = d.cap_extent == d.last_extent;
    DiskLoc end = DiskLoc::null();
    if (!wraps) {
        int64_t steps = 0;
        for (DiskLoc at = first_of_current(); in_current(at); at = files().deleted(at).next) {
            end = at;
            check_steps(++steps);
        }
        if (end.is_null()) end = d.deleted_list[1];
    }
    views.writing(d.deleted_list[1]) = end;
    if (wraps || looped()) views.writing(d.cap_first_new) = DiskLoc::null();
    views.writing(d.cap_extent) = wraps ? d.first_extent : files().extent(d.cap_extent).next;
}

void CappedRing::remove(DiskLoc loc) {
    NamespaceDetails& d = details();
    SpaceViews& views = storage_.views();
    DCHECK(d.is_capped != 0);
    const RecordHeader header = storage_.checked_live(loc);
    if (visits_ > kVisitsMax) damaged("it has too many free regions");
    if (d.cap_first_new == loc)
        views.writing(d.cap_first_new) =
            header.next_offset == -1 ? DiskLoc::null() : DiskLoc{loc.file, header.next_offset};
    storage_.unlink(loc);
    DiskLoc& head = first_of_current();
    DeletedRecord& record = views.writing(files().deleted(loc));
    record.next = head;
    record.marker = kDeletedMarker;
    views.writing(head) = loc;
    merge();
}

// Joins neighbouring regions of the current extent and orders what remains by falling address.
void CappedRing::merge() {
    SpaceViews& views = storage_.views();
    DiskLoc& head = first_of_current();
    DiskLoc behind = head;
    scratch_.clear();
    for (; in_current(behind); behind = checked_region(behind).next) {
        scratch_.push_back(behind);
        check_steps(static_cast<int64_t>(scratch_.size()));
    }
    visits_ += static_cast<int64_t>(scratch_.size());
    std::sort(scratch_.begin(), scratch_.end());
    size_t kept = 0;
    for (size_t i = 1; i < scratch_.size(); i++) {
        DeletedRecord& last = files().deleted(scratch_[kept]);
        if (int64_t{scratch_[kept].offset} + last.length == scratch_[i].offset)
            views.writing(last.length) += files().deleted(scratch_[i]).length;
        else
            scratch_[++kept] = scratch_[i];
    }
    scratch_.resize(std::min(scratch_.size(), kept + 1));
    for (const DiskLoc loc : scratch_) {
        DeletedRecord& record = files().deleted(loc);
        if (record.next != behind) views.writing(record.next) = behind;
        behind = loc;
    }
    if (head != behind) views.writing(head) = behind;
}

DiskLoc CappedRing::step_to_newest() {
    NamespaceDetails& d = details();
    if (d.record_count == 0) return DiskLoc::null();
    DiskLoc current = d.cap_extent;
    DiskLoc first_new = d.cap_first_new;
    for (int64_t steps = 0;; storage_.extents().check_chain_length(++steps)) {
        const ExtentHeader& extent = files().extent(current);
        // Only the records of this pass are newest in a looped ring's current extent.
        if (!first_new.is_null() && extent.last_record.is_valid()) {
            if (steps > 0) step_back_to(current, first_new);
            return extent.last_record;
        }
        current = extent.prev.is_valid() ? extent.prev : d.last_extent;
        if (looped()) first_new = files().extent(current).first_record;
    }
}

// There the next record goes. The second pointer is the end of what is free before that extent.
void CappedRing::step_back_to(DiskLoc extent, DiskLoc first_new) {
    NamespaceDetails& d = details();
    SpaceViews& views = storage_.views();
    views.writing(d.cap_extent) = extent;
    if (first_new != d.cap_first_new) views.writing(d.cap_first_new) = first_new;
    DiskLoc end = DiskLoc::null();
    if (d.cap_extent != d.first_extent) {
        int64_t steps = 0;
        for (DiskLoc at = d.deleted_list[0]; at.is_valid() && !in_current(at);
             at = files().deleted(at).next) {
            end = at;
            check_steps(++steps);
        }
        visits_ += steps;
    }
    views.writing(d.deleted_list[1]) = end;
}

void CappedRing::reset() {
    NamespaceDetails& d = details();
    DCHECK(d.is_capped != 0);
    SpaceViews& views = storage_.views();
    views.declare(&d.data_bytes, 2 * sizeof(int64_t));
    d.data_bytes = d.record_count = 0;
    views.declare(&d.cap_extent, 2 * sizeof(DiskLoc));
    d.cap_extent = d.first_extent;
    d.cap_first_new = DiskLoc::invalid();
    views.declare(&d.deleted_list, sizeof d.deleted_list);
    for (DiskLoc& head : d.deleted_list)
        head = DiskLoc::null();
    d.deleted_list[1] = DiskLoc::invalid();
    DiskLoc* last = &d.deleted_list[0];
    int64_t extents = 0;
    for (DiskLoc at = d.first_extent; at.is_valid(); at = files().extent(at).next) {
        ExtentHeader& extent = storage_.own_extent_at(at, ++extents);
        views.declare(&extent.first_record, 2 * sizeof(DiskLoc));
        extent.first_record = extent.last_record = DiskLoc::null();
        Region region{DiskLoc::null(), 0, at.offset};
        ExtentManager::data_region(at, extent.length, false, &region.loc, &region.length);
        last = append_behind(last, region);
    }
}

}  // namespace mmapv1
