#include "os/testing/sim_addresses.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace os::sim {

#ifdef __linux__

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPagesBehind = 64;
constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::mutex spare_mutex;
std::vector<std::pair<uint8_t*, size_t>> spare;  // what processes that have ended had reserved

// Null: none that is as large.
uint8_t* take_spare(size_t bytes) {
    const std::lock_guard lock(spare_mutex);
    const auto found =
        std::ranges::find(spare, bytes, [](const auto& each) { return each.second; });
    if (found == spare.end()) return nullptr;
    uint8_t* const begin = found->first;
    spare.erase(found);
    return begin;
}

}  // namespace

// The next process has them again: an emulator keeps memory for each page that was ever mapped.
Addresses::~Addresses() {
    const std::lock_guard lock(spare_mutex);
    for (const Range& range : reserved_) {
        if (mmap(range.begin, range.bytes, PROT_NONE, kAnonymous | MAP_FIXED, -1, 0) == MAP_FAILED)
            std::abort();
        spare.emplace_back(range.begin, range.bytes);
    }
}

uint8_t* Addresses::take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (holes_for(bytes) == 0) reserve(std::max(bytes, kReservedBytes));
    holes_.reserve(reserved_.size() + taken_ + 2);
    uint8_t* begin = random_() % 2 == 0 ? place_left(bytes) : nullptr;
    size_t skip = random_() % holes_for(bytes);
    const auto hole = std::ranges::find_if(holes_, [&](const Range& each) {
        return begin != nullptr ? each.has(begin, bytes) : each.bytes >= bytes && skip-- == 0;
    });
    const Range whole = *hole;
    if (begin == nullptr) {
        const size_t behind = random_() % 2 == 0 ? 0 : random_() % kPagesBehind * kPageBytes;
        begin = whole.begin + (behind <= whole.bytes - bytes ? behind : 0);
    }
    if (mmap(begin, bytes, PROT_READ | PROT_WRITE, kAnonymous | MAP_FIXED, -1, 0) == MAP_FAILED)
        throw std::bad_alloc();
    madvise(begin, bytes, MADV_NOHUGEPAGE);
    ++taken_;
    const auto size = [](const uint8_t* from, const uint8_t* to) {
        return static_cast<size_t>(to - from);
    };
    *hole = {begin + bytes, size(begin + bytes, whole.end())};
    const auto rest = hole->bytes == 0 ? holes_.erase(hole) : hole;
    if (begin > whole.begin) holes_.insert(rest, {whole.begin, size(whole.begin, begin)});
    return begin;
}

void Addresses::give_back(uint8_t* begin, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (mmap(begin, bytes, PROT_NONE, kAnonymous | MAP_FIXED, -1, 0) == MAP_FAILED) std::abort();
    --taken_;
    left_[gifts_++ % left_.size()] = {begin, bytes};
    auto after = std::ranges::upper_bound(holes_, begin, {}, &Range::begin);
    if (after != holes_.begin() && std::prev(after)->end() == begin) {
        --after;
        after->bytes += bytes;
    } else {
        after = holes_.insert(after, {begin, bytes});
    }
    const auto next = std::next(after);
    if (next == holes_.end() || after->end() != next->begin) return;
    after->bytes += next->bytes;
    holes_.erase(next);
}

size_t Addresses::holes_for(size_t bytes) const {
    return static_cast<size_t>(
        std::ranges::count_if(holes_, [&](const Range& hole) { return hole.bytes >= bytes; }));
}

uint8_t* Addresses::place_left(size_t bytes) {
    std::array<uint8_t*, std::tuple_size_v<decltype(left_)>> free{};
    size_t count = 0;
    for (const Range& left : left_)
        if (left.bytes == bytes && std::ranges::any_of(holes_, [&](const Range& hole) {
                return hole.has(left.begin, bytes);
            }))
            free[count++] = left.begin;
    return count == 0 ? nullptr : free[random_() % count];
}

void Addresses::reserve(size_t bytes) {
    reserved_.reserve(reserved_.size() + 1);
    holes_.reserve(reserved_.size() + taken_ + 2);
    void* begin = take_spare(bytes);
    if (begin == nullptr) begin = mmap(nullptr, bytes, PROT_NONE, kAnonymous, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    const Range range{static_cast<uint8_t*>(begin), bytes};
    reserved_.push_back(range);
    holes_.insert(std::ranges::upper_bound(holes_, range.begin, {}, &Range::begin), range);
}

#else

// The library of this system chooses the addresses.
Addresses::~Addresses() = default;

uint8_t* Addresses::take(size_t bytes) {
    const auto memory = static_cast<uint8_t*>(std::calloc(bytes, 1));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void Addresses::give_back(uint8_t* begin, size_t) {
    std::free(begin);
}

#endif

}  // namespace os::sim
