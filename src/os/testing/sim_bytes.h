// os/testing/sim_bytes.h - the bytes of a simulated file, and the memory of a simulated mapping.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace os::sim {

class Addresses;

// The unit of which versions are kept: no device tears less.
constexpr size_t kBlockBytes = 512;
// The unit that the system marks dirty and writes back.
constexpr size_t kPageBytes = 4096;

struct Block {
    std::array<uint8_t, kBlockBytes> bytes;
    uint64_t hash;
};
// Never changes once it is made, so copies of a file share it. Null: zeros.
using BlockPtr = std::shared_ptr<const Block>;

// Returns a block of the bytes; null for zeros. `bytes`: at most kBlockBytes, the rest is zeros.
BlockPtr make_block(std::span<const uint8_t> bytes);
bool same(const BlockPtr& a, const BlockPtr& b);
// Returns what block `number` adds to the print() of a file that has it.
uint64_t print_of(uint64_t number, const BlockPtr& block);

// A file's content. Zeros take no room and a copy shares all blocks, so that whole disks are
// copied in microseconds. Not synchronised; two copies may be used by two threads.
class SparseBytes {
  public:
    uint64_t length() const { return length_; }
    // Returns a number that is the same for the same bytes, however many zeros lie behind them; 0
    // for nothing but zeros.
    uint64_t print() const { return print_; }

    void resize(uint64_t length);  // what is new is zero
    // Zeros where there is nothing.
    void read(uint64_t offset, std::span<uint8_t> to) const;
    void write(uint64_t offset, std::span<const uint8_t> bytes);  // inside length()

    uint64_t blocks() const { return (length_ + kBlockBytes - 1) / kBlockBytes; }
    const BlockPtr& block(uint64_t number) const {
        const auto& chunk = chunks_[number / kChunkBlocks];
        return chunk ? (*chunk)[number % kChunkBlocks] : kZeros;
    }
    void set_block(uint64_t number, BlockPtr block);
    // Every block that is not all zeros: use(number, block).
    template <typename Use>
    void each_block(Use&& use) const {
        for (size_t c = 0; c < chunks_.size(); ++c) {
            if (!chunks_[c]) continue;
            for (size_t i = 0; i < kChunkBlocks; ++i)
                if (const BlockPtr& block = (*chunks_[c])[i]) use(c * kChunkBlocks + i, *block);
        }
    }

  private:
    static constexpr size_t kChunkBlocks = 64;
    using Chunk = std::array<BlockPtr, kChunkBlocks>;
    static const BlockPtr kZeros;

    uint64_t length_ = 0;
    uint64_t print_ = 0;
    std::vector<std::shared_ptr<const Chunk>> chunks_;  // null: zeros
};

// Zeroed memory at one address; untouched pages cost nothing.
class Memory {
  public:
    Memory(std::shared_ptr<Addresses> addresses, size_t bytes);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    void clear();  // zeros again
    void fill(const SparseBytes& content);
    // Returns for each page whether it may hold something else than zeros: whether it does is not
    // examined.
    std::vector<bool> touched_pages() const;

  private:
    const std::shared_ptr<Addresses> addresses_;
    const size_t size_;
    uint8_t* const data_;
};

}  // namespace os::sim
