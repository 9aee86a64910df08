// storage/mmapv1/space/check_space.h - proves that the space of one namespace is whole: its
// extents, records, deleted lists and counts (mmapv1 spec 8.3).
//
// Nothing is trusted and nothing is changed: links are followed only to plausible places and never
// in circles. Database lock shared.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/mmapv1/space/namespace_storage.h"
#include "storage/record_id_set.h"

namespace mmapv1 {

enum class Severity {
    error,  // something is damaged
    leak,   // space without an owner: harmless, and known to happen (aborted repairs, compact)
};

struct Finding {
    Severity severity;
    std::string ns;  // namespace or file
    std::string text;
    // The place of the finding: in a data file, or in the view of the namespace file.
    DiskLoc loc = DiskLoc::null();
    const void* entry = nullptr;
};
using Findings = std::function<void(const Finding&)>;

// The numbers that a walk over one namespace's space counts.
struct SpaceMetrics {
    std::vector<DiskLoc> extents;  // in chain order, valid ones
    int64_t extent_bytes = 0;
    int64_t records = 0;
    int64_t record_bytes = 0;  // headers included
    int64_t deleted = 0;
    int64_t deleted_bytes = 0;
    int64_t lost_bytes = 0;  // in no record and on no list
    storage::RecordIdSet live;
};

// Extents, record chains, deleted lists, counts and (capped) the ring of one namespace.
SpaceMetrics check_space(const NamespaceStorage& storage, const Findings& found);

// Calls `visit` with each of these places that lies in an extent, in ascending order.
template <typename Visit>
void each_in_extent(const storage::RecordIdSet& places, DiskLoc extent, int32_t length,
                    Visit&& visit) {
    places.each_between(extent.id(), {extent.id().value + static_cast<uint64_t>(length)},
                        [&](storage::RecordId id) { visit(DiskLoc::from(id)); });
}

}  // namespace mmapv1
