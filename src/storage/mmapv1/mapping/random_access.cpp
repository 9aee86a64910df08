#include "storage/mmapv1/mapping/random_access.h"

#include <algorithm>

#include "storage/mmapv1/mapping/file_set.h"

namespace mmapv1 {

bool expects_random_access() {
    return false;
}

bool DurableFile::wants_read_ahead() const {
    return expects_random_access();
}

void DurableFile::give_hints() {
    if (!expects_random_access()) return;
    shared_->expect_random_access();
    if (private_) private_->expect_random_access();
}

void DurableFile::read_ahead(int64_t offset, int64_t bytes) {
    const int64_t from = std::clamp<int64_t>(offset, 0, length_);
    const int64_t to = std::clamp<int64_t>(offset + bytes, from, length_);
    shared_->read_ahead(static_cast<uint64_t>(from), static_cast<uint64_t>(to - from));
}

}  // namespace mmapv1
