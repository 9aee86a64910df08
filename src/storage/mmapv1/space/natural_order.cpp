#include "storage/mmapv1/space/natural_order.h"

#include "base/dcheck.h"

namespace mmapv1 {

namespace {

// One direction's view of the links.
struct Walker {
    const NamespaceStorage& storage;
    bool forward;

    const NamespaceDetails& details() const { return storage.details(); }
    const ExtentHeader& extent(DiskLoc loc) const { return storage.files().extent(loc); }

    DiskLoc neighbour(DiskLoc loc) const {
        const RecordHeader& record = storage.files().record(loc);
        const int32_t offset = forward ? record.next_offset : record.prev_offset;
        return offset == -1 ? DiskLoc::null() : DiskLoc{loc.file, offset};
    }
    DiskLoc head(DiskLoc extent_loc) const {
        const ExtentHeader& e = extent(extent_loc);
        return forward ? e.first_record : e.last_record;
    }
    DiskLoc next_extent(DiskLoc loc) const { return forward ? extent(loc).next : extent(loc).prev; }
    DiskLoc outermost_extent() const {
        return forward ? details().first_extent : details().last_extent;
    }
    // First record met in extents from `at` on, to the end of the chain.
    DiskLoc from_extent(DiskLoc at) const {
        for (int64_t empty = 0; at.is_valid(); at = next_extent(at)) {
            const DiskLoc loc = head(at);
            if (loc.is_valid()) return loc;
            storage.extents().check_chain_length(++empty);
        }
        return DiskLoc::null();
    }

    // A ring that has come round: the oldest records are those of the current extent up to
    // cap_first_new, the newest those from there on.
    bool looped() const {
        return details().is_capped != 0 && details().cap_first_new != DiskLoc::invalid();
    }
    // Returns the place behind the last record of an extent, round the ring to the current one's
    // second part.
    DiskLoc behind_extent(DiskLoc at) const {
        const DiskLoc current = details().cap_extent;
        for (int64_t empty = 0;; storage.extents().check_chain_length(++empty)) {
            at = next_extent(at);
            if (!at.is_valid()) at = outermost_extent();
            if (at == current) return second_part();
            const DiskLoc loc = head(at);
            if (loc.is_valid()) return loc;
        }
    }
    // The current extent's records at the start of the scan.
    DiskLoc first_part() const {
        const DiskLoc first_new = details().cap_first_new;
        const DiskLoc loc = head(details().cap_extent);
        if (forward) return loc == first_new ? DiskLoc::null() : loc;
        return first_new.is_null() ? DiskLoc::null() : loc;
    }
    // And at its end.
    DiskLoc second_part() const {
        const DiskLoc first_new = details().cap_first_new;
        if (forward) return first_new;
        return first_new.is_null() ? head(details().cap_extent) : neighbour(first_new);
    }
    DiskLoc looped_first() const {
        const DiskLoc loc = first_part();
        return loc.is_valid() ? loc : behind_extent(details().cap_extent);
    }
    DiskLoc looped_next(DiskLoc loc) const {
        const DiskLoc next = neighbour(loc);
        const DiskLoc own{loc.file, storage.files().record(loc).extent_offset};
        const DiskLoc first_new = details().cap_first_new;
        if (own != details().cap_extent) return next.is_valid() ? next : behind_extent(own);
        if (forward) {
            const bool part_ends = next == first_new;  // also both null: only old records here
            return part_ends ? behind_extent(own) : next;
        }
        return loc == first_new ? behind_extent(own) : next;
    }
};

}  // namespace

DiskLoc first_record(const NamespaceStorage& storage, storage::Direction direction) {
    const Walker walker{storage, direction == storage::Direction::forward};
    return walker.looped() ? walker.looped_first() : walker.from_extent(walker.outermost_extent());
}

DiskLoc next_record(const NamespaceStorage& storage, DiskLoc loc, storage::Direction direction) {
    DCHECK(loc.is_valid());
    const Walker walker{storage, direction == storage::Direction::forward};
    if (walker.looped()) return walker.looped_next(loc);
    const DiskLoc next = walker.neighbour(loc);
    if (next.is_valid()) return next;
    const DiskLoc own{loc.file, storage.files().record(loc).extent_offset};
    return walker.from_extent(walker.next_extent(own));
}

}  // namespace mmapv1
