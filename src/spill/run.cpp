#include "spill/run.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "sched/memory.h"
#include "sched/tick.h"

namespace spill {

namespace {

// The head of an entry: how many bytes it has, or kLarge and how many are left of it here.
constexpr size_t kLengthBytes = sizeof(uint32_t);
constexpr uint32_t kLarge = uint32_t{1} << 31;
// Run reads and writes so many bytes at once.
constexpr size_t kChunkBytes = size_t{256} << 10;
// Less than this is not worth a file.
constexpr int64_t kWorthwhileBytes = 1 << 20;

// The size of a place at the end of an entry.
constexpr size_t kPlaceBytes = sizeof(uint64_t) + sizeof(uint32_t);

static_assert(bson::Buffer::kBytesMax < kLarge);

}  // namespace

int64_t fair_share(int64_t bytes) {
    return std::min(bytes, sched::memory::operation_limit() / 4);
}

bool is_full(int64_t bytes, int64_t limit) {
    return bytes > fair_share(limit) || (bytes > kWorthwhileBytes && sched::memory::is_scarce());
}

Values::ValueLocation Values::add(std::span<const uint8_t> bytes) {
    if (!file_) file_.emplace(folder_);
    const ValueLocation place{file_->size(), static_cast<uint32_t>(bytes.size())};
    file_->append(bytes);
    return place;
}

void Values::read(const ValueLocation& place, std::span<uint8_t> to) {
    sched::tick_bytes(to.size(), sched::PerTick::copied);
    file_->read(place.offset, to);
}

void Run::append(std::span<const uint8_t> head, std::span<const uint8_t> body,
                 std::span<const uint8_t> tail) {
    const bool large = values_ != nullptr && tail.size() >= Values::kLargeBytes;
    const size_t bytes = head.size() + body.size() + (large ? kPlaceBytes : tail.size());
    sched::tick_bytes(head.size() + body.size() + tail.size(), sched::PerTick::copied);
    largest_ = std::max(largest_, bytes);
    chunk_.append_value(static_cast<uint32_t>(bytes) | (large ? kLarge : 0));
    write(head);
    write(body);
    if (!large) return write(tail);
    const Values::ValueLocation place = values_->add(tail);
    chunk_.append_value(place.offset);
    chunk_.append_value(place.bytes);
}

void Run::append_from(const Run& other) {
    const std::span<const uint8_t> bytes(other.read_.get() + other.entry_,
                                         other.position_ - other.entry_);
    sched::tick_bytes(bytes.size(), sched::PerTick::copied);
    largest_ = std::max(largest_, bytes.size());
    chunk_.append_value(static_cast<uint32_t>(bytes.size()) | (other.large_ ? kLarge : 0));
    write(bytes);
}

// Writes bytes; a large piece goes past the chunk.
void Run::write(std::span<const uint8_t> bytes) {
    if (chunk_.size() + bytes.size() > kChunkBytes) write_chunk();
    if (bytes.size() < kChunkBytes) {
        chunk_.append(bytes.data(), bytes.size());
    } else {
        file_.append(bytes);
    }
}

void Run::write_chunk() {
    if (chunk_.size() == 0) return;
    file_.append({chunk_.data(), chunk_.size()});
    chunk_.clear();
}

void Run::rewind() {
    write_chunk();
    chunk_ = bson::Buffer();
    offset_ = 0;
    held_ = position_ = entry_ = 0;
}

// Whether that many bytes follow the position; they are then in memory.
bool Run::have(size_t bytes) {
    const size_t kept = held_ - position_;
    if (kept >= bytes) return true;
    const uint64_t left = file_.size() - offset_;
    if (kept + left < bytes) return false;
    const size_t more = std::min<uint64_t>(std::max(bytes - kept, kChunkBytes), left);
    if (capacity_ < kept + more) {
        // Makes room for the largest entry at once: growing needs both for a moment.
        const uint64_t most = kLengthBytes + largest_ + kChunkBytes;
        const size_t capacity = std::max<uint64_t>(kept + more, std::min(most, file_.size()));
        auto larger = sched::make_bytes(capacity);
        if (kept != 0) std::memcpy(larger.get(), read_.get() + position_, kept);
        read_ = std::move(larger);
        capacity_ = capacity;
    } else if (kept != 0) {
        std::memmove(read_.get(), read_.get() + position_, kept);
    }
    held_ = kept;
    position_ = 0;
    sched::tick_bytes(more, sched::PerTick::copied);
    file_.read(offset_, {read_.get() + held_, more});
    offset_ += more;
    held_ += more;
    return true;
}

bool Run::advance() {
    if (!have(kLengthBytes)) return false;
    const auto length = bson::load<uint32_t>(read_.get() + position_);
    const size_t bytes = length & ~kLarge;
    large_ = (length & kLarge) != 0;
    position_ += kLengthBytes;
    if (!have(bytes)) base::fail(base::kOutOfDiskSpace, "external sort: a run was cut");
    entry_ = position_;
    position_ += bytes;
    sched::tick_bytes(bytes, sched::PerTick::copied);
    return true;
}

std::span<const uint8_t> Run::entry() const {
    return {read_.get() + entry_, position_ - entry_ - (large_ ? kPlaceBytes : 0)};
}

std::span<const uint8_t> Run::whole(sched::Bytes& memory) const {
    const std::span<const uint8_t> here = entry();
    if (!large_) return here;
    Values::ValueLocation place;
    place.offset = bson::load<uint64_t>(here.data() + here.size());
    place.bytes = bson::load<uint32_t>(here.data() + here.size() + sizeof place.offset);
    memory.reset();  // two may be too many
    memory = sched::make_bytes(here.size() + place.bytes);
    std::memcpy(memory.get(), here.data(), here.size());
    values_->read(place, {memory.get() + here.size(), place.bytes});
    return {memory.get(), here.size() + place.bytes};
}

size_t Run::memory_bytes() const {
    return std::max(largest_, kChunkBytes) + kChunkBytes;
}

}  // namespace spill
