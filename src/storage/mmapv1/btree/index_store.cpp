#include "storage/mmapv1/btree/index_store.h"

#include "base/error.h"
#include "storage/mmapv1/btree/validate.h"
#include "storage/mmapv1/space/read_ahead.h"

namespace mmapv1 {

void IndexStore::check(DiskLoc bucket, const uint8_t* data) const {
    ReadAhead(&storage_.files()).come_to_all(bucket, kBucketRecordBytes);
    const bool apart =
        bucket.offset % 4 == 0 && !storage_.files().in_checked(bucket, kBucketRecordBytes);
    std::string fault;
    if (!apart)
        fault = "it overlaps another one";
    else if (!storage_.holds_own(bucket, kBucketRecordBytes))
        fault = "it does not lie in the extents of this index";
    else
        fault = bucket_fault(data);
    if (!fault.empty())
        base::fail(base::kInternalError,
                   "index {} is damaged: bucket {}: {}; drop the index and build it again",
                   storage_.ns(), to_string(bucket), fault);
    storage_.files().set_checked(bucket, number_);
}

}  // namespace mmapv1
