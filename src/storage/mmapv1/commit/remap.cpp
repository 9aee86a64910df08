#include "storage/mmapv1/commit/remap.h"

#include <algorithm>

#include "base/dcheck.h"
#include "storage/lock.h"

namespace mmapv1 {

size_t Remapper::files_to_visit(size_t files, int64_t now_us, uint64_t limit_bytes) const {
    DCHECK(limit_bytes > 0);
    if (files == 0) return 0;
    if (!last_us_ || always_all_) return files;
    const double time = static_cast<double>(now_us - *last_us_) / static_cast<double>(kTargetUs);
    const double memory =
        static_cast<double>(private_bytes_.load()) / static_cast<double>(limit_bytes);
    const double wanted = static_cast<double>(files) * std::max(time, memory);
    return std::clamp<size_t>(
        wanted < static_cast<double>(files) ? static_cast<size_t>(wanted) : files, 1, files);
}

void Remapper::run(FileSet& files, int64_t now_us, uint64_t limit_bytes) {
    // REQUIRES: no thread writes to the copies that are dropped here.
    DCHECK(storage::LockManager::mode() == storage::GlobalMode::W ||
           storage::LockManager::mode() == storage::GlobalMode::X);
    const std::shared_lock lock(files.mutex());
    const auto& all = files.all_locked();
    const size_t visits = files_to_visit(all.size(), now_us, limit_bytes);
    DCHECK(visits <= all.size() && (visits > 0 || all.empty()));
    auto next = all.upper_bound(resume_after_);
    for (size_t i = 0; i < visits; ++i) {
        if (next == all.end()) next = all.begin();
        next->second->remap_if_needed();
        resume_after_ = next->first;
        ++next;
    }
    private_bytes_ = 0;
    last_us_ = now_us;
}

}  // namespace mmapv1
