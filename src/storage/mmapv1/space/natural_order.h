// storage/mmapv1/space/natural_order.h - the order in which a scan meets the records of a namespace
// (mmapv1 spec 5.1 rule 3, 5.8 rule 10).
#pragma once

#include "storage/mmapv1/space/namespace_storage.h"
#include "storage/record_store.h"

namespace mmapv1 {

// Database lock shared. The functions return null at the end.
DiskLoc first_record(const NamespaceStorage& storage, storage::Direction direction);
DiskLoc next_record(const NamespaceStorage& storage, DiskLoc loc, storage::Direction direction);

}  // namespace mmapv1
