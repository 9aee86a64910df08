// The compact command (mmapv1 spec 10.9, semantics 6 rule 5): all documents are copied, extent by
// extent, into fresh extents; each emptied one becomes free. Whatever ends that before leaves all
// documents, and all free space on its lists.

#include "base/error.h"
#include "base/log.h"
#include "sched/tick.h"
#include "storage/mmapv1/collection.h"

namespace mmapv1 {

namespace {

// How large the copies become.
struct CompactSizes {
    bool preserve = false;    // the old record's size
    bool by_options = false;  // bytes * factor + extra
    double factor = 1.0;
    int32_t extra = 0;
};

constexpr int kNotANumber = 13118;

CompactSizes parse(const bson::Object& command) {
    constexpr double kFactorMax = 4.0;
    constexpr double kExtraMax = 1 << 20;
    CompactSizes sizes;
    sizes.preserve = command["preservePadding"].truthy();
    const bson::Element factor = command["paddingFactor"];
    const bson::Element extra = command["paddingBytes"];
    if (factor && !factor.is_number()) base::fail(kNotANumber, "paddingFactor must be a number");
    sizes.by_options = factor || extra;
    if (sizes.preserve && sizes.by_options)
        base::fail(base::kBadValue, "cannot mix preservePadding and paddingFactor|paddingBytes");
    if (factor.is_number()) {
        sizes.factor = factor.to_double();
        if (!(sizes.factor >= 1.0 && sizes.factor <= kFactorMax))
            base::fail(base::kBadValue, "invalid padding factor: it must be from 1.0 to 4.0");
    }
    if (extra.is_number()) {
        if (!(extra.to_double() >= 0 && extra.to_double() <= kExtraMax))
            base::fail(base::kBadValue, "invalid padding bytes: they must be from 0 to 1 MB");
        sizes.extra = extra.to_int32();
    }
    return sizes;
}

// Copies every record of an extent, which has none afterwards.
void copy_extent(MmapRecordStore& records, DiskLoc extent, const CompactSizes& sizes,
                 const storage::CompactHooks& hooks) {
    NamespaceStorage& space = records.storage();
    ReadAhead ahead(&space.files());
    for (;;) {
        const DiskLoc loc = space.files().extent(extent).first_record;
        if (loc.is_null()) return;
        ahead.come_to(loc);
        const RecordHeader& record = space.checked_live(loc);
        const bson::Doc doc = space.files().document(loc);
        const int32_t bytes = doc.size() + kRecordHeaderBytes;
        int32_t wanted = records.wanted_size(doc.size());
        if (sizes.preserve) wanted = record.length;
        if (sizes.by_options) wanted = static_cast<int32_t>(bytes * sizes.factor) + sizes.extra;
        const storage::RecordId id = records.insert_sized(doc, wanted);
        space.unlink(loc);
        if (hooks.copied) hooks.copied({id, records.get(id)});
        sched::tick_bytes(doc.size(), sched::PerTick::walked);
    }
}

// Puts the free space in the extents up to that one back on the lists, which are without it.
void regain(NamespaceStorage& space, DiskLoc last) {
    try {
        DiskLoc extent = space.details().first_extent;
        for (int64_t n = 1;; ++n) {
            const DiskLoc next = space.own_extent_at(extent, n).next;
            space.regain(extent);
            if (extent == last) return;
            extent = next;
        }
    } catch (const std::exception& error) {
        base::log::warning("free space of {} is given up: {}", space.ns(), error.what());
    }
}

}  // namespace

void MmapCollection::compact(const bson::Object& command, const storage::CompactHooks& hooks,
                             bson::Builder&) {
    const CompactSizes sizes = parse(command);
    check_writable();
    if (records_->capped()) base::fail(base::kBadValue, "cannot compact a capped collection");
    // A damaged document throws here, before anything is changed.
    const auto all = records_->cursor(storage::Direction::forward);
    while (const auto record = all->next())
        sched::tick_bytes(record->doc.size(), sched::PerTick::walked);
    NamespaceStorage& space = storage();
    const DiskLoc last_old = details().last_extent;
    Region fresh;
    space.append_extent(0, &fresh);  // may fail: the disk is full
    space.orphan_deleted();
    space.give(fresh.loc, fresh.length, fresh.extent_offset);
    const auto copy = [&] {
        if (!sizes.preserve) records_->reset_padding();
        if (hooks.before_copy) hooks.before_copy();
        records_->cursors().invalidate_all();
        for (bool more = true; more;) {
            const DiskLoc extent = details().first_extent;
            more = extent != last_old;
            copy_extent(*records_, extent, sizes, hooks);
            space.release_extent(extent);
        }
    };
    sched::undo_if_fails(copy, [&] { regain(space, last_old); });
}

}  // namespace mmapv1
