// Reading what can be read of a damaged collection (mmapv1 spec 8.1): chains are followed from
// their beginning until they break, then from their end.
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/space/checked.h"
#include "storage/record_id_set.h"

namespace mmapv1 {

namespace {

class Salvage {
  public:
    using Use = std::function<void(bson::Doc)>;
    using Skipped = std::function<void(const std::string&)>;

    Salvage(const NamespaceStorage& storage, const Use& use, const Skipped& skipped)
        : details_(storage.details()), files_(storage.files()), use_(use), skipped_(skipped) {}

    void run() {
        const std::vector<DiskLoc> extents = find_extents();
        for (const DiskLoc extent : extents)
            room_ += files_.extent(extent).length;
        const auto current = std::find(extents.begin(), extents.end(), details_.cap_extent);
        const bool looped = details_.is_capped != 0 &&
                            details_.cap_first_new != DiskLoc::invalid() &&
                            current != extents.end();
        const auto all = [](DiskLoc) { return true; };
        if (!looped) {
            for (const DiskLoc extent : extents)
                read(extent, all);
            return;
        }
        // The order of a ring that has come round (mmapv1 spec 5.8 rule 10).
        bool newer = false;
        const auto is_newer = [&](DiskLoc at) { return newer |= at == details_.cap_first_new; };
        read(*current, [&](DiskLoc at) { return !is_newer(at); });
        for (auto extent = current + 1; extent != extents.end(); ++extent)
            read(*extent, all);
        for (auto extent = extents.begin(); extent != current; ++extent)
            read(*extent, all);
        newer = false;
        read(*current, is_newer, false);
    }

  private:
    // Calls `visit` with the members of a chain: from its beginning until it breaks, for which
    // `broken` is called, then those from its end. `usable` says whether a member can be there,
    // `next` and `prev` where its links lead. Only what comes from the end is kept in memory, to
    // turn it round.
    template <typename Usable, typename Next, typename Prev, typename Visit, typename Broken>
    static void walk(DiskLoc first, DiskLoc last, Usable usable, Next next, Prev prev, Visit visit,
                     Broken broken) {
        storage::RecordIdSet seen;
        const auto is_new = [&](DiskLoc at) { return usable(at) && seen.insert(at.id()); };
        DiskLoc before = DiskLoc::null();
        DiskLoc at = first;
        for (; is_new(at); at = next(at)) {
            visit(at);
            before = at;
        }
        if (at.is_null() && before == last) return;
        broken(at);
        std::vector<DiskLoc> from_end;
        for (at = last; is_new(at); at = prev(at))
            from_end.push_back(at);
        for (auto it = from_end.rbegin(); it != from_end.rend(); ++it)
            visit(*it);
    }

    std::vector<DiskLoc> find_extents() const {
        std::vector<DiskLoc> found;
        walk(
            details_.first_extent, details_.last_extent,
            [this](DiskLoc at) { return checked_extent(files_, at); },
            [this](DiskLoc at) { return files_.extent(at).next; },
            [this](DiskLoc at) { return files_.extent(at).prev; },
            [&](DiskLoc at) { found.push_back(at); },
            [this](DiskLoc at) {
                skipped_(fmt::format("the chain of extents is broken at {}", to_string(at)));
            });
        return found;
    }

    // Uses those documents of an extent that are wanted. `tell`: where its chain breaks is
    // reported.
    template <typename Wanted>
    void read(DiskLoc extent_loc, Wanted wanted, bool tell = true) {
        const ExtentHeader& extent = files_.extent(extent_loc);
        const auto link = [&](int32_t offset) {
            return offset == -1 ? DiskLoc::null() : DiskLoc{extent_loc.file, offset};
        };
        walk(
            extent.first_record, extent.last_record,
            [&](DiskLoc at) { return at.is_valid() && checked_record(files_, at, extent_loc); },
            [&](DiskLoc at) { return link(files_.record(at).next_offset); },
            [&](DiskLoc at) { return link(files_.record(at).prev_offset); },
            [&](DiskLoc at) {
                if (wanted(at)) use(at);
            },
            [&](DiskLoc at) {
                if (tell)
                    skipped_(fmt::format("the chain of records in extent {} is broken at {}",
                                         to_string(extent_loc), to_string(at)));
            });
    }

    // In a crafted file records may lie in each other, and what is copied be larger than any disk.
    void use(DiskLoc loc) {
        if (room_ < 0) return;
        bson::Doc doc;
        try {
            doc = files_.document(loc);
        } catch (const base::Error& error) {
            return skipped_(error.what());
        }
        room_ -= doc.size() + kRecordHeaderBytes;
        if (room_ < 0)
            return skipped_(
                fmt::format("the documents have more bytes than the extents, so records lie in "
                            "each other; those from {} on are not read",
                            to_string(loc)));
        use_(doc);
    }

    const NamespaceDetails& details_;
    const DataFiles& files_;
    const Use& use_;
    const Skipped& skipped_;
    int64_t room_ = 0;  // for documents that are still to come
};

}  // namespace

void MmapCollection::salvage(const std::function<void(bson::Doc)>& use,
                             const std::function<void(const std::string&)>& skipped) {
    Salvage(storage(), use, skipped).run();
}

storage::CollectionOptions MmapCollection::creation_options() const {
    const NamespaceDetails& d = details();
    storage::CollectionOptions made;
    made.options = options();
    made.user_flags = d.user_flags;
    made.id_index = (d.system_flags & kHasIdIndex) != 0;
    made.capped = d.is_capped != 0;
    if (!made.capped) return made;
    const bson::Element size = made.options["size"];
    int32_t extents = 0;
    made.capped_bytes = size.is_number() ? size.to_int64() : storage().storage_bytes(&extents);
    if (d.max_documents > 0 && d.max_documents != kNoDocumentLimit)
        made.capped_max_documents = d.max_documents;
    return made;
}

}  // namespace mmapv1
