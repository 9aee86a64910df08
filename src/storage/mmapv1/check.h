// storage/mmapv1/check.h - proves that a database is whole (mmapv1 spec 8.3). Shared by the
// validate command and the offline tool.
//
// Nothing is trusted and nothing is changed: links are followed only to plausible places and never
// in circles. Database lock shared.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/engine.h"
#include "storage/mmapv1/space/check_space.h"

namespace mmapv1 {

class MmapCollection;
class MmapDatabase;

using KeyDeriver = decltype(storage::ValidateOptions::derive_keys);

// The file of a finding, relative to the dbpath, and the byte in it.
struct FileLocation {
    std::string file;
    int64_t offset;
};
FileLocation location_of(const MmapDatabase& database, const Finding& finding);

// A collection with its documents and indexes. `derive` may be empty: index contents are then not
// compared with the documents. Returns the number of used entries per index slot.
std::vector<int64_t> check_collection(MmapCollection& collection, const KeyDeriver& derive,
                                      const Findings& found);

// The whole database: files, namespace file, extents, catalogue documents, and every collection.
// `done` is called for each collection that was checked.
void check_database(MmapDatabase& database, const KeyDeriver& derive, const Findings& found,
                    const std::function<void(MmapCollection&, const SpaceMetrics&)>& done);

}  // namespace mmapv1
