#include "storage/kv/changes.h"

#include <algorithm>
#include <new>

namespace kv {

namespace {

// The first block, which is kept for the next commit, and the largest that is made for small rows.
// Beyond some size a block that goes is memory given back.
constexpr size_t kFirstBytes = size_t{16} << 10, kBlockBytesMax = size_t{1} << 20;

}  // namespace

Changes::Made::Made(Table table, Bytes key, const Bytes* value)
    : table_(table),
      key_bytes_(static_cast<uint32_t>(key.size())),
      value_bytes_(value == nullptr ? kErased : static_cast<uint32_t>(value->size())) {
    DCHECK(!key.empty() && key.size() < kErased && (value == nullptr || value->size() < kErased));
    auto* const behind = reinterpret_cast<uint8_t*>(this + 1);
    std::memcpy(behind, key.data(), key.size());
    if (value != nullptr && !value->empty())
        std::memcpy(behind + key.size(), value->data(), value->size());
}

Changes::Made& Changes::add(Table table, Bytes key, const Bytes* value) {
    const size_t room = room_for(key.size() + (value == nullptr ? 0 : value->size()));
    Made& made = *new (place(room)) Made(table, key, value);
    DCHECK(made.size() == room);
    return made;
}

// Blocks grow with what there is, so that many changes take few of them.
uint8_t* Changes::place(size_t room) {
    if (blocks_.empty() || blocks_.back().size - blocks_.back().used < room)
        blocks_.emplace_back(std::max(room, std::clamp(bytes_, kFirstBytes, kBlockBytesMax)));
    Block& last = blocks_.back();
    uint8_t* const place = last.bytes.get() + last.used;
    last.used += room;
    bytes_ += room;
    return place;
}

void Changes::cut(const Mark& mark) {
    DCHECK(mark.blocks <= blocks_.size() && mark.bytes <= bytes_);
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(mark.blocks), blocks_.end());
    if (!blocks_.empty()) blocks_.back().used = mark.used;
    bytes_ = mark.bytes;
}

void Changes::clear() {
    const bool keeps_first = !blocks_.empty() && blocks_.front().size == kFirstBytes;
    cut({keeps_first ? size_t{1} : 0, 0, 0});
}

bool Changes::each(const std::function<bool(const Change&)>& use) const {
    bool goes_on = true;
    for (const Block& block : blocks_)
        block.each_from(0, [&](const Made& made) { goes_on = goes_on && use(change_of(made)); });
    return goes_on;
}

void Changes::take(const std::function<void(const Change&)>& use) {
    for (Block& block : blocks_) {
        block.each_from(0, [&](const Made& made) { use(change_of(made)); });
        block.used = 0;
        if (block.size > kFirstBytes) block.bytes.reset();
    }
}

size_t Changes::memory_bytes() const {
    size_t bytes = 0;
    for (const Block& block : blocks_)
        bytes += block.bytes != nullptr ? block.size : 0;
    return bytes;
}

}  // namespace kv
