#include "os/testing/sim_content.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>

#include "base/unobserved_reads.h"
#include "os/testing/choices.h"

namespace os::sim {

namespace {

// More would take room, and hardly show anything new.
constexpr size_t kVersionsMax = 8;
constexpr uint64_t kPageBlocks = kPageBytes / kBlockBytes;

}  // namespace

BlockPtr Content::block_of(const SparseBytes& bytes, uint64_t number) const {
    return number < bytes.blocks() ? bytes.block(number) : nullptr;
}

void Content::change_block(uint64_t time, uint64_t number, BlockPtr block) {
    // The page is dirty again, with all that was left out of it.
    const uint64_t page = number / kPageBlocks * kPageBlocks;
    for (auto at = lost_.lower_bound(page); at != lost_.end() && at->first < page + kPageBlocks;
         at = lost_.erase(at))
        dirty_[at->first].push_back({time, block_of(now_, at->first)});
    // The device may have something else where the file has grown, even for zeros.
    const uint64_t offset = number * kBlockBytes;
    const bool has_place = offset < durable_.length() || offset < allocated_;
    if (has_place && same(now_.block(number), block)) return;
    std::vector<Version>& versions = dirty_[number];
    versions.push_back({time, block});
    if (versions.size() > kVersionsMax) versions.erase(versions.begin() + kVersionsMax / 2);
    now_.set_block(number, std::move(block));
}

void Content::write(uint64_t time, uint64_t offset, std::span<const uint8_t> bytes) {
    if (offset + bytes.size() > length()) resize(time, offset + bytes.size());
    if (const auto mapped = memory())
        std::memcpy(mapped->data() + offset, bytes.data(), bytes.size());
    std::array<uint8_t, kBlockBytes> whole;
    while (!bytes.empty()) {
        const uint64_t number = offset / kBlockBytes;
        const size_t inside = offset % kBlockBytes;
        const size_t n = std::min(kBlockBytes - inside, bytes.size());
        now_.read(number * kBlockBytes, whole);
        std::memcpy(whole.data() + inside, bytes.data(), n);
        change_block(time, number, make_block(whole));
        offset += n;
        bytes = bytes.subspan(n);
    }
}

void Content::resize(uint64_t time, uint64_t length) {
    if (length == now_.length()) return;
    if (length < now_.length()) {
        allocated_ = std::min(allocated_, length);
        // Zeros from here on, if it grows again.
        const uint64_t kept = (length + kBlockBytes - 1) / kBlockBytes;
        for (uint64_t number = kept; number < now_.blocks(); ++number)
            if (now_.block(number)) change_block(time, number, nullptr);
        if (const size_t rest = length % kBlockBytes; rest != 0 && now_.block(kept - 1))
            change_block(time, kept - 1,
                         make_block(std::span(now_.block(kept - 1)->bytes).first(rest)));
    }
    now_.resize(length);
    lengths_.push_back(length);
}

void Content::allocate(uint64_t time, uint64_t length) {
    if (length > now_.length()) resize(time, length);
    allocated_ = std::max(allocated_, length);
}

void Content::make_durable() {
    durable_ = now_;
    for (const auto& [number, block] : lost_)
        if (number < durable_.blocks()) durable_.set_block(number, block);
    dirty_.clear();
    lengths_.clear();
    allocated_ = std::max(allocated_, length());
}

void Content::make_bytes_durable(uint64_t begin, uint64_t end) {
    end = std::min(end, durable_.length());
    if (begin >= end) return;
    std::vector<uint8_t> bytes(end - begin);
    now_.read(begin, bytes);
    durable_.write(begin, bytes);
    for (uint64_t n = begin / kBlockBytes; n * kBlockBytes < end; ++n)
        if (same(block_of(durable_, n), block_of(now_, n))) dirty_.erase(n);
}

void Content::lose_dirty(Choices& choices) {
    SparseBytes kept = durable_;
    kept.resize(now_.length());
    for (const auto& [number, versions] : dirty_) {
        if (number >= kept.blocks()) continue;
        if (choices.choose(2) == 1) {
            kept.set_block(number, block_of(now_, number));
        } else {
            lost_.insert_or_assign(number, kept.block(number));
        }
    }
    durable_ = std::move(kept);
    dirty_.clear();
    lengths_.clear();
}

void Content::forget_clean() {
    for (const auto& [number, block] : lost_)
        if (number < now_.blocks()) now_.set_block(number, block);
    lost_.clear();
}

BlockPtr Content::as_of(uint64_t time, uint64_t number) const {
    BlockPtr found = block_of(durable_, number);
    const auto versions = dirty_.find(number);
    if (versions == dirty_.end()) return found;
    for (const Version& version : versions->second)
        if (version.time <= time) found = version.content;
    return found;
}

// One sector of several blocks: it shows all of them as they were at one moment.
void Content::choose_blocks(SparseBytes& result, Choices& choices, uint64_t first, size_t blocks,
                            const OldContents* old) const {
    const auto begin = dirty_.lower_bound(first), end = dirty_.lower_bound(first + blocks);
    std::set<uint64_t> times{0};
    for (auto at = begin; at != end; ++at)
        for (const Version& version : at->second)
            times.insert(version.time);
    std::vector<Candidate> candidates;
    const auto add = [&](Candidate candidate) {
        const bool known =
            std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
                return std::equal(candidate.begin(), candidate.end(), other.begin(), same);
            });
        if (!known) candidates.push_back(std::move(candidate));
    };
    for (const uint64_t time : times) {
        Candidate candidate(blocks);
        for (size_t i = 0; i < blocks; ++i)
            candidate[i] = as_of(time, first + i);
        add(std::move(candidate));
    }
    const uint64_t offset = first * kBlockBytes;
    if (old != nullptr && offset >= durable_.length() && offset >= allocated_) {
        for (const auto& content : *old) {
            Candidate candidate(blocks);
            for (size_t i = 0; i < blocks; ++i)
                candidate[i] = block_of(*content, first + i);
            add(std::move(candidate));
        }
    }
    if (candidates.size() == 1) return;
    const Candidate& chosen = candidates[choices.choose(candidates.size())];
    for (size_t i = 0; i < blocks && first + i < result.blocks(); ++i)
        result.set_block(first + i, chosen[i]);
}

// Sectors smaller than a block: in the order of their offsets.
void Content::choose_bytes(SparseBytes& result, Choices& choices, uint64_t block,
                           size_t sector_bytes) const {
    using Bytes = std::vector<uint8_t>;
    const auto part = [&](const BlockPtr& from, size_t at) {
        if (!from) return Bytes(sector_bytes);
        return Bytes(from->bytes.begin() + static_cast<ptrdiff_t>(at),
                     from->bytes.begin() + static_cast<ptrdiff_t>(at + sector_bytes));
    };
    for (size_t at = 0; at < kBlockBytes; at += sector_bytes) {
        const uint64_t offset = block * kBlockBytes + at;
        if (offset >= result.length()) return;
        std::vector<Bytes> candidates{part(block_of(durable_, block), at)};
        for (const Version& version : dirty_.at(block)) {
            Bytes bytes = part(version.content, at);
            if (std::find(candidates.begin(), candidates.end(), bytes) == candidates.end())
                candidates.push_back(std::move(bytes));
        }
        if (candidates.size() == 1) continue;
        Bytes& chosen = candidates[choices.choose(candidates.size())];
        chosen.resize(std::min<uint64_t>(sector_bytes, result.length() - offset));
        result.write(offset, chosen);
    }
}

SparseBytes Content::after_cut(Choices& choices, size_t sector_bytes,
                               const OldContents* old) const {
    std::vector<uint64_t> lengths{durable_.length()};
    for (const uint64_t length : lengths_)
        if (std::find(lengths.begin(), lengths.end(), length) == lengths.end())
            lengths.push_back(length);
    SparseBytes result = durable_;
    if (lengths.size() > 1) result.resize(lengths[choices.choose(lengths.size())]);
    if (sector_bytes < kBlockBytes) {
        for (const auto& [number, versions] : dirty_)
            choose_bytes(result, choices, number, sector_bytes);
        return result;
    }
    const uint64_t length = result.length();
    const size_t blocks = sector_bytes / kBlockBytes;
    uint64_t next = 0;
    for (const auto& [number, versions] : dirty_) {
        const uint64_t first = number / blocks * blocks;
        if (first < next || first * kBlockBytes >= length) continue;
        choose_blocks(result, choices, first, blocks, old);
        next = first + blocks;
    }
    return result;
}

Content Content::of(SparseBytes bytes) {
    Content content;
    content.now_ = bytes;
    content.durable_ = std::move(bytes);
    content.allocated_ = content.length();
    return content;
}

std::shared_ptr<Memory> Content::map_shared(const std::shared_ptr<Addresses>& addresses) {
    if (auto mapped = memory()) return mapped;
    auto fresh = std::make_shared<Memory>(addresses, length());
    fresh->fill(now_);
    memory_ = fresh;
    return fresh;
}

void Content::look_at_memory(uint64_t time) {
    const auto mapped = memory();
    if (!mapped) return;
    const std::vector<bool> touched = mapped->touched_pages();
    std::array<uint8_t, kBlockBytes> known;
    for (uint64_t number = 0; number < now_.blocks(); ++number) {
        if (!touched[number / kPageBlocks]) {
            number += kPageBlocks - 1;
            continue;
        }
        const size_t at = number * kBlockBytes;
        const size_t n = std::min<uint64_t>(kBlockBytes, length() - at);
        now_.read(at, known);
        // The kernel reads mapped memory while programs write there: without a journal a flush does
        // not wait for writers.
        [[maybe_unused]] const base::UnobservedReads kernel_reads;
        if (std::memcmp(known.data(), mapped->data() + at, n) == 0) continue;
        change_block(time, number, make_block({mapped->data() + at, n}));
    }
}

}  // namespace os::sim
