// os/testing/sim_content.h - one simulated file as the system has it in memory, as the device has
// it, and every state between the two that a power cut can leave.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "os/testing/sim_bytes.h"

namespace os {
class Choices;
}

namespace os::sim {

// Contents that were removed or cut off: old blocks that a file which grows may show.
using OldContents = std::deque<std::shared_ptr<const SparseBytes>>;

class Content {
  public:
    const SparseBytes& now() const { return now_; }
    uint64_t length() const { return now_.length(); }
    // Whether the last sync left out something that the device has no room for.
    bool has_unallocated() const { return !dirty_.empty() && length() > allocated_; }

    // `time` rises from call to call.
    void write(uint64_t time, uint64_t offset, std::span<const uint8_t> bytes);
    void resize(uint64_t time, uint64_t length);
    void allocate(uint64_t time, uint64_t length);

    // Puts the whole content on the device, but for what a failed sync has left out.
    void make_durable();
    // Puts these bytes on the device, as far as the durable length reaches.
    void make_bytes_durable(uint64_t begin, uint64_t end);
    // Takes all pages for clean, as the system does when a sync has failed: some have reached the
    // device.
    void lose_dirty(Choices& choices);
    // Drops the pages that the system takes for clean; it reads the device again.
    void forget_clean();

    // Returns the bytes that the device may have after a cut. Choice 0 is always what was synced.
    SparseBytes after_cut(Choices& choices, size_t sector_bytes, const OldContents* old) const;
    // Lets some of the content reach the device without having been asked to.
    void write_back(Choices& choices, size_t sector_bytes) {
        durable_ = after_cut(choices, sector_bytes, nullptr);
    }
    // Makes content of these bytes, all durable.
    static Content of(SparseBytes bytes);

    // Returns the memory of the shared mappings of the file; null while there is none.
    std::shared_ptr<Memory> memory() const { return memory_.lock(); }
    std::shared_ptr<Memory> map_shared(const std::shared_ptr<Addresses>& addresses);
    // Undeclared stores, straight into that memory.
    void look_at_memory(uint64_t time);
    // A copy has no mappings: the process is gone.
    void unmap() { memory_.reset(); }

  private:
    struct Version {
        uint64_t time;
        BlockPtr content;
    };
    using Candidate = std::vector<BlockPtr>;

    void change_block(uint64_t time, uint64_t number, BlockPtr block);
    BlockPtr block_of(const SparseBytes& bytes, uint64_t number) const;
    BlockPtr as_of(uint64_t time, uint64_t number) const;
    void choose_blocks(SparseBytes& result, Choices& choices, uint64_t first, size_t blocks,
                       const OldContents* old) const;
    void choose_bytes(SparseBytes& result, Choices& choices, uint64_t block,
                      size_t sector_bytes) const;

    SparseBytes now_, durable_;
    // Versions of blocks that were written since the last sync, oldest first.
    std::map<uint64_t, std::vector<Version>> dirty_;
    // Blocks that count as clean though the device has something else, which is in durable_.
    std::map<uint64_t, BlockPtr> lost_;
    std::vector<uint64_t> lengths_;  // since the last sync
    uint64_t allocated_ = 0;         // no old blocks show up to here
    std::weak_ptr<Memory> memory_;
};

}  // namespace os::sim
