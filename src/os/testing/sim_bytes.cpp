#include "os/testing/sim_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "os/testing/sim_addresses.h"

namespace os::sim {

namespace {

uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93;
    return x ^ x >> 32;
}

bool is_zero(std::span<const uint8_t> bytes) {
    // Each byte is as the one before it, and the first one is zero.
    return bytes.empty() ||
           (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

size_t round_up(size_t bytes) {
    return (std::max<size_t>(bytes, 1) + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

const BlockPtr SparseBytes::kZeros;

BlockPtr make_block(std::span<const uint8_t> bytes) {
    if (is_zero(bytes)) return nullptr;
    const auto block = std::make_shared<Block>();
    std::memcpy(block->bytes.data(), bytes.data(), bytes.size());
    std::memset(block->bytes.data() + bytes.size(), 0, kBlockBytes - bytes.size());
    uint64_t hash = 0;
    for (size_t i = 0; i < kBlockBytes; i += sizeof hash) {
        uint64_t word = 0;
        std::memcpy(&word, block->bytes.data() + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    block->hash = mix(hash);
    return block;
}

bool same(const BlockPtr& a, const BlockPtr& b) {
    if (a == b) return true;
    return a && b && a->hash == b->hash && a->bytes == b->bytes;
}

uint64_t print_of(uint64_t number, const BlockPtr& block) {
    return block ? mix(block->hash + 0x9e3779b97f4a7c15 * (number + 1)) : 0;
}

void SparseBytes::resize(uint64_t length) {
    if (length < length_) {
        // Bytes behind the end must not reappear when the file grows again.
        const uint64_t kept = (length + kBlockBytes - 1) / kBlockBytes;
        for (uint64_t n = kept; n < blocks(); ++n)
            if (block(n)) set_block(n, nullptr);
        if (const size_t rest = length % kBlockBytes; rest != 0 && block(kept - 1))
            set_block(kept - 1, make_block(std::span(block(kept - 1)->bytes).first(rest)));
    }
    length_ = length;
    chunks_.resize((blocks() + kChunkBlocks - 1) / kChunkBlocks);
}

void SparseBytes::read(uint64_t offset, std::span<uint8_t> to) const {
    for (size_t done = 0; done < to.size();) {
        const uint64_t at = offset + done;
        const size_t inside = at % kBlockBytes;
        const size_t n = std::min(kBlockBytes - inside, to.size() - done);
        const uint64_t number = at / kBlockBytes;
        const BlockPtr* found = number < blocks() ? &block(number) : nullptr;
        if (found && *found) {
            std::memcpy(to.data() + done, (*found)->bytes.data() + inside, n);
        } else {
            std::memset(to.data() + done, 0, n);
        }
        done += n;
    }
}

void SparseBytes::write(uint64_t offset, std::span<const uint8_t> bytes) {
    std::array<uint8_t, kBlockBytes> whole;
    while (!bytes.empty()) {
        const uint64_t number = offset / kBlockBytes;
        const size_t inside = offset % kBlockBytes;
        const size_t n = std::min(kBlockBytes - inside, bytes.size());
        if (n == kBlockBytes) {
            set_block(number, make_block(bytes.first(n)));
        } else {
            read(number * kBlockBytes, whole);
            std::memcpy(whole.data() + inside, bytes.data(), n);
            set_block(number, make_block(whole));
        }
        offset += n;
        bytes = bytes.subspan(n);
    }
}

void SparseBytes::set_block(uint64_t number, BlockPtr block) {
    // Nothing lies behind the end.
    if (const size_t rest = length_ % kBlockBytes; rest != 0 && block && number == blocks() - 1 &&
                                                   !is_zero(std::span(block->bytes).subspan(rest)))
        block = make_block(std::span(block->bytes).first(rest));
    auto& chunk = chunks_[number / kChunkBlocks];
    if (!chunk && !block) return;
    auto changed = chunk ? std::make_shared<Chunk>(*chunk) : std::make_shared<Chunk>();
    BlockPtr& at = (*changed)[number % kChunkBlocks];
    print_ ^= print_of(number, at) ^ print_of(number, block);
    at = std::move(block);
    chunk = std::move(changed);
}

Memory::Memory(std::shared_ptr<Addresses> addresses, size_t bytes)
    : addresses_(std::move(addresses)), size_(round_up(bytes)), data_(addresses_->take(size_)) {}

Memory::~Memory() {
    addresses_->give_back(data_, size_);
}

#ifdef __linux__

void Memory::clear() {
    madvise(data_, size_, MADV_DONTNEED);
}

std::vector<bool> Memory::touched_pages() const {
    static const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    constexpr uint64_t kPresentOrSwapped = uint64_t{3} << 62;
    std::vector<uint64_t> entries(size_ / kPageBytes, kPresentOrSwapped);
    const auto bytes = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
    const auto offset = reinterpret_cast<uintptr_t>(data_) / kPageBytes * sizeof(uint64_t);
    if (pread(pages, entries.data(), static_cast<size_t>(bytes), static_cast<off_t>(offset)) !=
        bytes)
        std::fill(entries.begin(), entries.end(), kPresentOrSwapped);
    std::vector<bool> result(entries.size());
    for (size_t i = 0; i < entries.size(); ++i)
        result[i] = (entries[i] & kPresentOrSwapped) != 0;
    return result;
}

#else

void Memory::clear() {
    std::memset(data_, 0, size_);
}

std::vector<bool> Memory::touched_pages() const {
    return std::vector<bool>(size_ / kPageBytes, true);
}

#endif

void Memory::fill(const SparseBytes& content) {
    content.each_block([this](uint64_t number, const Block& block) {
        const size_t at = number * kBlockBytes;
        std::memcpy(data_ + at, block.bytes.data(), std::min(kBlockBytes, size_ - at));
    });
}

}  // namespace os::sim
