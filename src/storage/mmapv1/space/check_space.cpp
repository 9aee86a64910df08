// Extents, records and free space of one namespace: mmapv1 spec 8.3 rules 3 to 6.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "sched/tick.h"
#include "storage/mmapv1/space/check_space.h"
#include "storage/mmapv1/space/checked.h"
#include "storage/mmapv1/space/layout.h"
#include "storage/mmapv1/space/read_ahead.h"

namespace mmapv1 {

namespace {

// The cost of examining a record (sched/tick.h): it is remembered in two sets.
constexpr int64_t kTicksPerRecord = 4;

class SpaceCheck {
  public:
    SpaceCheck(const NamespaceStorage& storage, const Findings& found)
        : storage_(storage), files_(storage.files()), found_(found) {}

    SpaceMetrics run() {
        walk_extents();
        for (const DiskLoc extent : metrics_.extents)
            walk_records(extent);
        compare_counts();
        if (details().is_capped != 0)
            walk_ring();
        else
            walk_lists();
        check_tiles();
        return std::move(metrics_);
    }

  private:
    const NamespaceDetails& details() const { return storage_.details(); }

    // At a place in the data files.
    template <typename... Args>
    void error(DiskLoc loc, fmt::format_string<Args...> format, Args&&... args) const {
        found_({Severity::error, storage_.ns(), fmt::format(format, std::forward<Args>(args)...),
                loc});
    }
    // At a field of the entry in the namespace file.
    template <typename... Args>
    void error(const void* field, fmt::format_string<Args...> format, Args&&... args) const {
        found_({Severity::error, storage_.ns(), fmt::format(format, std::forward<Args>(args)...),
                DiskLoc::null(), field});
    }

    bool check_extent(DiskLoc loc, DiskLoc before) const {
        if (!loc.is_valid() || !files_.plausible(loc)) {
            if (before.is_null())
                error(&details().first_extent, "extent link leads to {}", to_string(loc));
            else
                error(before, "extent link leads to {}", to_string(loc));
            return false;
        }
        if (!checked_extent(files_, loc)) {
            error(loc, "no valid extent header at {}", to_string(loc));
            return false;
        }
        const ExtentHeader& e = files_.extent(loc);
        if (e.first_record.is_null() != e.last_record.is_null())
            error(loc, "extent {}: one of first and last record is missing", to_string(loc));
        return true;
    }

    void walk_extents() {
        DiskLoc before = DiskLoc::null();
        for (DiskLoc at = details().first_extent; !at.is_null(); at = files_.extent(at).next) {
            if (!check_extent(at, before)) return;
            if (!own_extents_.emplace(at.id().value, metrics_.extents.size()).second) {
                error(at, "extent chain runs in a circle at {}", to_string(at));
                return;
            }
            if (files_.extent(at).prev != before)
                error(at, "extent {} does not point back to {}", to_string(at), to_string(before));
            metrics_.extents.push_back(at);
            metrics_.extent_bytes += files_.extent(at).length;
            before = at;
        }
        if (details().last_extent != before)
            error(&details().last_extent, "last extent is {}, the chain ends at {}",
                  to_string(details().last_extent), to_string(before));
    }

    void walk_records(DiskLoc extent_loc) {
        const ExtentHeader& e = files_.extent(extent_loc);
        int32_t before = -1;
        ReadAhead ahead(&files_);
        for (DiskLoc at = e.first_record; at.is_valid();) {
            sched::tick(kTicksPerRecord);
            ahead.come_to(at);
            if (!checked_record(files_, at, extent_loc)) {
                // If there is no such place, the link is wrong.
                const DiskLoc link = before == -1 ? extent_loc : DiskLoc{extent_loc.file, before};
                error(files_.plausible(at) ? at : link,
                      "no valid record at {} in the chain of extent {}", to_string(at),
                      to_string(extent_loc));
                return;
            }
            const RecordHeader& record = files_.record(at);
            if (!metrics_.live.insert(at.id())) {
                error(at, "record chain of extent {} runs in a circle at {}", to_string(extent_loc),
                      to_string(at));
                return;
            }
            if (record.prev_offset != before)
                error(at, "record {} does not point back to {:x}", to_string(at), before);
            metrics_.records++;
            metrics_.record_bytes += record.length;
            places_.insert(at.id());
            before = at.offset;
            at = record.next_offset == -1 ? DiskLoc::null() : DiskLoc{at.file, record.next_offset};
        }
        if (e.last_record.is_valid() && e.last_record.offset != before)
            error(extent_loc, "extent {}: the last record is {}, the chain ends at {:x}",
                  to_string(extent_loc), to_string(e.last_record), before);
    }

    void compare_counts() const {
        if (metrics_.records != details().record_count)
            error(&details().record_count, "{} records found, {} counted", metrics_.records,
                  details().record_count.get());
        const int64_t data = metrics_.record_bytes - metrics_.records * kRecordHeaderBytes;
        if (data != details().data_bytes)
            error(&details().data_bytes, "{} bytes of data found, {} counted", data,
                  details().data_bytes.get());
    }

    // A member of a deleted list, to which the list itself or its member `from` leads; false stops
    // the walk of that list.
    bool deleted_member(DiskLoc loc, DiskLoc from, const void* list) {
        sched::tick(kTicksPerRecord);
        if (!loc.is_valid() || !files_.plausible(loc)) {
            if (from.is_valid())
                error(from, "a deleted list leads to {}", to_string(loc));
            else
                error(list, "a deleted list leads to {}", to_string(loc));
            return false;
        }
        const DeletedRecord& record = files_.deleted(loc);
        const DiskLoc extent_loc{loc.file, record.extent_offset};
        if (!own_extents_.contains(extent_loc.id().value) ||
            !checked_record(files_, loc, extent_loc)) {
            error(loc, "no valid deleted record at {}", to_string(loc));
            return false;
        }
        if (!places_.insert(loc.id())) {
            if (metrics_.live.contains(loc.id()))
                error(loc, "record {} is live and on a deleted list", to_string(loc));
            else
                error(loc, "deleted record {} is on a list twice", to_string(loc));
            return false;
        }
        metrics_.deleted++;
        metrics_.deleted_bytes += record.length;
        return true;
    }

    void walk_lists() {
        const bool lists30 =
            files_.count() > 0 && (files_.header(0).version_minor & kVersionMinorLists30) != 0;
        for (int list = 0; list < kDeletedLists; list++) {
            DiskLoc before = DiskLoc::null();
            for (DiskLoc at = details().deleted_list[list]; !at.is_null();
                 before = at, at = files_.deleted(at).next) {
                if (!deleted_member(at, before, &details().deleted_list[list])) break;
                const int32_t length = files_.deleted(at).length;
                const bool grab_bag = lists30 && list == kDeletedLists - 1;
                if (deleted_list_of(length) != list && !grab_bag)
                    error(at, "deleted record {} of {} bytes is on list {}", to_string(at), length,
                          list);
            }
        }
        if (!lists30) return;
        for (const DiskLoc& head : details().deleted_list_large) {
            DiskLoc before = DiskLoc::null();
            for (DiskLoc at = head; at.is_valid() && at != DiskLoc{0, 0};
                 before = at, at = files_.deleted(at).next)
                if (!deleted_member(at, before, &head)) break;
        }
    }

    // The ring's single list: extents in chain order, each with one region at least (mmapv1
    // spec 5.8 rules 1, 2, 4).
    void walk_ring() {
        const NamespaceDetails& d = details();
        if (d.cap_extent == DiskLoc{0, 0}) return;  // ancient, converted when opened for writing
        const size_t current = position_of(d.cap_extent);
        if (current == metrics_.extents.size())
            error(&d.cap_extent, "the current extent {} is none of the collection's",
                  to_string(d.cap_extent));
        check_first_new();
        size_t position = 0;
        size_t regions_here = 0;
        DiskLoc before_current = DiskLoc::null();
        DiskLoc before = DiskLoc::null();
        for (DiskLoc at = d.deleted_list[0]; !at.is_null();
             before = at, at = files_.deleted(at).next) {
            if (!deleted_member(at, before, &d.deleted_list[0])) return;
            const size_t here = position_of({at.file, files_.deleted(at).extent_offset});
            if (here != position) {
                if (here != position + 1 || regions_here == 0)
                    error(at, "the free list of the ring leaves the order of extents at {}",
                          to_string(at));
                position = here;
                regions_here = 0;
            }
            regions_here++;
            if (here < current) before_current = at;
        }
        if (!metrics_.extents.empty() &&
            (position + 1 != metrics_.extents.size() || regions_here == 0))
            error(metrics_.extents[std::min(position, metrics_.extents.size() - 1)],
                  "an extent of the ring has no free region");
        const DiskLoc d1 = d.deleted_list[1];
        if (d1 != DiskLoc::invalid() && d1 != before_current)
            error(&d.deleted_list[1], "the ring's second pointer is {}, should be {}",
                  to_string(d1), to_string(before_current));
        for (int list = 2; list < kDeletedLists; list++)
            if (!d.deleted_list[list].is_null())
                error(&d.deleted_list[list], "a capped collection uses deleted list {}", list);
    }

    void check_first_new() const {
        const NamespaceDetails& d = details();
        if (!d.cap_first_new.is_valid()) return;
        if (!metrics_.live.contains(d.cap_first_new.id()) ||
            files_.record(d.cap_first_new).extent_offset != d.cap_extent.offset)
            error(&d.cap_first_new, "the first new record {} is no record of the current extent",
                  to_string(d.cap_first_new));
    }

    // Live and deleted records fill each extent without gap or overlap (mmapv1 spec 5.3 rule 1).
    void check_tiles() {
        std::vector<DiskLoc> extents = metrics_.extents;
        std::sort(extents.begin(), extents.end());
        for (const DiskLoc extent_loc : extents) {
            const int32_t length = files_.extent(extent_loc).length;
            DiskLoc start;
            int32_t bytes;
            ExtentManager::data_region(
                extent_loc, length, storage_.special() && details().is_capped == 0, &start, &bytes);
            int32_t at = start.offset;
            const int32_t end = extent_loc.offset + length;
            each_in_extent(places_, extent_loc, length, sched::ticking([&](DiskLoc loc) {
                               if (loc.offset < at && at != start.offset)
                                   error(loc, "{} record at {} overlaps the one before it",
                                         metrics_.live.contains(loc.id()) ? "live" : "deleted",
                                         to_string(loc));
                               metrics_.lost_bytes += std::max(0, loc.offset - at);
                               // Live or deleted, its length lies in the same place.
                               at = loc.offset + files_.record(loc).length;
                           }));
            metrics_.lost_bytes += std::max(0, end - at);
        }
    }

    // Returns the position of an extent in the chain; the number of extents if it is not there.
    size_t position_of(DiskLoc extent) const {
        const auto it = own_extents_.find(extent.id().value);
        return it == own_extents_.end() ? metrics_.extents.size() : it->second;
    }

    const NamespaceStorage& storage_;
    const DataFiles& files_;
    const Findings& found_;
    SpaceMetrics metrics_;
    std::unordered_map<uint64_t, size_t> own_extents_;  // their positions in the chain
    storage::RecordIdSet places_;                       // of records, live and deleted
};

}  // namespace

SpaceMetrics check_space(const NamespaceStorage& storage, const Findings& found) {
    return SpaceCheck(storage, found).run();
}

}  // namespace mmapv1
