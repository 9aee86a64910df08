#include "storage/mmapv1/mapping/page_set.h"

#include "base/dcheck.h"

namespace mmapv1 {

size_t PageSet::note(uint64_t begin, uint64_t bytes) {
    DCHECK(bytes > 0);
    const uint64_t last = (begin + bytes - 1) / kPageBytes;
    size_t added = 0;
    for (uint64_t page = begin / kPageBytes; page <= last; ++page) {
        const uint64_t number = page / kBlockPages;
        if (last_block_ == nullptr || number != last_number_) {
            last_block_ = &blocks_[number];
            last_number_ = number;
        }
        auto bit = (*last_block_)[page % kBlockPages];
        added += bit ? 0 : 1;
        bit = true;
    }
    return added;
}

void PageSet::clear() {
    blocks_.clear();
    last_block_ = nullptr;
}

std::vector<PageSet::Range> PageSet::ranges(uint64_t most_bytes) const {
    DCHECK(most_bytes >= kPageBytes);
    std::vector<Range> result;
    for (const auto& [number, block] : blocks_) {
        for (size_t page = 0; page < kBlockPages; ++page) {
            if (!block[page]) continue;
            const uint64_t begin = (number * kBlockPages + page) * kPageBytes;
            if (!result.empty() && result.back().begin + result.back().bytes == begin &&
                result.back().bytes + kPageBytes <= most_bytes)
                result.back().bytes += kPageBytes;
            else
                result.push_back({begin, kPageBytes});
        }
    }
    return result;
}

}  // namespace mmapv1
