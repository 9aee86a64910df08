#include "storage/mmapv1/commit/before_images.h"

#include <algorithm>
#include <utility>

#include "base/thread_scratch.h"
#include "sched/operation.h"

namespace mmapv1 {

BeforeImages& BeforeImages::of_thread() {
    return base::thread_scratch<BeforeImages>();
}

void BeforeImages::begin() {
    begun_.push_back({size_, calls_.size()});
}

void BeforeImages::undo() {
    DCHECK(!empty());
    const Begun first = begun_.back();
    while (size_ > first.size) {
        Range range{};
        size_ -= sizeof range;
        std::memcpy(&range, buffer_.get() + size_, sizeof range);
        DCHECK(range.bytes <= size_ - first.size);
        size_ -= range.bytes;
        std::memcpy(range.start, buffer_.get() + size_, range.bytes);
    }
    while (calls_.size() > first.calls) {
        calls_.back()();
        calls_.pop_back();
    }
    end();
}

void BeforeImages::end() {
    DCHECK(!empty());
    begun_.pop_back();
    if (!empty()) return;
    size_ = 0;
    calls_.clear();
    if (capacity_ <= kKeptBytes) return;
    buffer_.reset();
    capacity_ = 0;
}

// A write has begun: memory for its copies may come from the reserve.
void BeforeImages::grow(uint32_t bytes) {
    constexpr size_t kFirstBytes = 8192;
    const sched::Operation::Scope detached(nullptr);
    const size_t wanted = std::max({kFirstBytes, size_ + bytes + sizeof(Range), 2 * capacity_});
    auto larger = std::make_unique_for_overwrite<uint8_t[]>(wanted);
    if (size_ != 0) std::memcpy(larger.get(), buffer_.get(), size_);
    buffer_ = std::move(larger);
    capacity_ = wanted;
}

void BeforeImages::on_undo(std::function<void()> call) {
    DCHECK(!empty());
    const sched::Operation::Scope detached(nullptr);
    calls_.push_back(std::move(call));
}

}  // namespace mmapv1
