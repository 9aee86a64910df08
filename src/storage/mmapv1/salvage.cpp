// Reading what can be read of a damaged collection (mmapv1 spec 8.1): chains are followed from
// their beginning until they break, then from their end.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "storage/mmapv1/check.h"
#include "storage/mmapv1/database.h"

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
        const auto current = std::find(extents.begin(), extents.end(), details_.cap_extent);
        const bool looped = details_.is_capped != 0 &&
                            details_.cap_first_new != DiskLoc::invalid() &&
                            current != extents.end();
        if (!looped) {
            for (const DiskLoc extent : extents)
                read(find_records(extent));
            return;
        }
        // The order of a ring that has come round (mmapv1 spec 5.8 rule 10).
        std::vector<DiskLoc> oldest = find_records(*current);
        const auto first_new = std::find(oldest.begin(), oldest.end(), details_.cap_first_new);
        const std::vector<DiskLoc> newest(first_new, oldest.end());
        oldest.erase(first_new, oldest.end());
        read(oldest);
        for (auto extent = current + 1; extent != extents.end(); ++extent)
            read(find_records(*extent));
        for (auto extent = extents.begin(); extent != current; ++extent)
            read(find_records(*extent));
        read(newest);
    }

  private:
    std::vector<DiskLoc> find_extents() {
        std::set<DiskLoc> seen;
        std::vector<DiskLoc> found;
        DiskLoc at = details_.first_extent;
        for (; sound_extent(files_, at) && seen.insert(at).second; at = files_.extent(at).next)
            found.push_back(at);
        if (at.is_null() && (found.empty() || found.back() == details_.last_extent)) return found;
        skipped_(fmt::format("the chain of extents is broken at {}", to_string(at)));
        std::vector<DiskLoc> from_end;
        for (at = details_.last_extent; sound_extent(files_, at) && seen.insert(at).second;
             at = files_.extent(at).prev)
            from_end.push_back(at);
        found.insert(found.end(), from_end.rbegin(), from_end.rend());
        return found;
    }

    std::vector<DiskLoc> find_records(DiskLoc extent_loc) {
        const ExtentHeader& extent = files_.extent(extent_loc);
        std::set<DiskLoc> seen;
        std::vector<DiskLoc> found;
        const auto usable = [&](DiskLoc loc) {
            return loc.is_valid() && sound_record(files_, loc, extent_loc) &&
                   seen.insert(loc).second;
        };
        const auto link = [&](int32_t offset) {
            return offset == -1 ? DiskLoc::null() : DiskLoc{extent_loc.file, offset};
        };
        DiskLoc at = extent.first_record;
        for (; usable(at); at = link(files_.record(at).next_offset))
            found.push_back(at);
        const DiskLoc reached = found.empty() ? DiskLoc::null() : found.back();
        if (at.is_null() && reached == extent.last_record) return found;
        skipped_(fmt::format("the chain of records in extent {} is broken at {}",
                             to_string(extent_loc), to_string(at)));
        std::vector<DiskLoc> from_end;
        for (at = extent.last_record; usable(at); at = link(files_.record(at).prev_offset))
            from_end.push_back(at);
        found.insert(found.end(), from_end.rbegin(), from_end.rend());
        return found;
    }

    void read(const std::vector<DiskLoc>& records) {
        for (const DiskLoc loc : records) {
            bson::Doc doc;
            try {
                doc = files_.document(loc);
            } catch (const base::Error& error) {
                skipped_(error.what());
                continue;
            }
            use_(doc);
        }
    }

    const NamespaceDetails& details_;
    const DataFiles& files_;
    const Use& use_;
    const Skipped& skipped_;
};

}  // namespace

void Collection::salvage(const std::function<void(bson::Doc)>& use,
                         const std::function<void(const std::string&)>& skipped) {
    Salvage(storage(), use, skipped).run();
}

storage::CollectionOptions Collection::creation_options() const {
    const NamespaceDetails& d = details();
    storage::CollectionOptions made;
    made.options = options();
    made.user_flags = d.user_flags;
    made.capped = d.is_capped != 0;
    if (!made.capped) return made;
    const bson::Element size = made.options["size"];
    int32_t extents = 0;
    made.capped_bytes = size.is_number() ? size.to_int64() : storage().storage_bytes(&extents);
    if (d.max_documents > 0 && d.max_documents != kNoDocumentLimit)
        made.capped_max_documents = d.max_documents;
    return made;
}

void Database::mend_free_space() {
    if (!writable() || files_.count() == 0 || extents_.free_list_is_sound()) return;
    base::log::warning("database {}: the list of free extents is broken; their space is given up",
                       name_);
    extents_.forget_free_list();
}

}  // namespace mmapv1
