#include "storage/mmapv1/btree/index_store.h"

#include "base/error.h"
#include "storage/mmapv1/btree/validate.h"

namespace mmapv1 {

void IndexStore::check(DiskLoc bucket, const uint8_t* data) const {
    const bool inside = storage_.files().bytes_behind(bucket) >= kBucketRecordBytes;
    const std::string fault = inside ? bucket_fault(data) : "it reaches beyond its file";
    if (!fault.empty())
        base::fail(base::kInternalError,
                   "index {} is damaged: bucket {}: {}; drop the index and build it again",
                   storage_.ns(), to_string(bucket), fault);
    storage_.files().set_checked(bucket);
}

}  // namespace mmapv1
