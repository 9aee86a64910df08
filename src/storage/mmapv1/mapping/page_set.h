// storage/mmapv1/mapping/page_set.h - some pages of a file or of memory.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace mmapv1 {

// One thread at a time.
class PageSet {
  public:
    static constexpr uint64_t kPageBytes = 4096;
    struct Range {
        uint64_t begin;
        uint64_t bytes;
    };

    // All pages of a range, which is not empty. Returns how many of them were not noted before.
    size_t note(uint64_t begin, uint64_t bytes);
    void clear();
    bool empty() const { return blocks_.empty(); }

    // The pages in their order. Adjacent ones are one range, of `most_bytes` at most.
    std::vector<Range> ranges(uint64_t most_bytes = UINT64_MAX) const;

  private:
    static constexpr size_t kBlockPages = 64;
    using Block = std::bitset<kBlockPages>;

    std::map<uint64_t, Block> blocks_;  // by the number of the first page / kBlockPages
    uint64_t last_number_ = 0;
    Block* last_block_ = nullptr;  // ranges mostly come in their order
};

}  // namespace mmapv1
