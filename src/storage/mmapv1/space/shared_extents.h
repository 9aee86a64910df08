// storage/mmapv1/space/shared_extents.h - extents that lie in each other.
//
// An extent belongs to one namespace or to the list of free ones. In a damaged or crafted directory
// two may claim the same bytes, and each looks valid by itself: what is written for one of them
// then overwrites the other. This is not checked at every write, but once, when a database is
// opened: the headers of all its extents are read, each of them once.
#pragma once

#include <set>
#include <string>

#include "storage/mmapv1/space/extent_manager.h"
#include "storage/mmapv1/space/namespace_index.h"

namespace mmapv1 {

struct SharedExtents {
    std::set<std::string> namespaces;  // that share bytes with another one, or with themselves
    bool free_list = false;            // so do free extents
    // One whose chain leads beyond what its file has in use, where new extents would be written
    // over it; empty: there is none.
    std::string into_tail;
};

// Chains that lead to what is no extent are followed up to there. Database lock shared.
SharedExtents find_shared_extents(const ExtentManager& extents, const NamespaceIndex& namespaces);

}  // namespace mmapv1
