// spill/sorter.h - sorts entries of bytes: packed in memory while they fit, else through sorted
// runs (sorted_runs.h, where Order is explained). Stable.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/tick.h"
#include "spill/sorted_runs.h"

namespace spill {

template <typename Order>
class Sorter {
  public:
    using Item = typename Order::Item;

    // Runs go to `folder` (see Folder) once more than `memory_bytes` are held, or memory is scarce.
    Sorter(const Order& order, std::string folder, Folder::Use use, size_t memory_bytes)
        : order_(order),
          memory_bytes_(static_cast<int64_t>(memory_bytes)),
          runs_(order, std::move(folder), use) {}

    // These three throw what Run does.
    // The parts are those of Run::append.
    void add(std::span<const uint8_t> head, std::span<const uint8_t> body = {},
             std::span<const uint8_t> tail = {}) {
        const size_t more = head.size() + body.size() + tail.size();
        if (is_full(static_cast<int64_t>(more), memory_bytes_)) {
            if (!offsets_.empty()) spill();
            runs_.add([&](Run& run) { run.append(head, body, tail); });
            ++count_;
            return;
        }
        if (!offsets_.empty() && is_full(bytes_held() + static_cast<int64_t>(more), memory_bytes_))
            spill();
        offsets_.push_back(held_.size());
        if (tail.size() >= Values::kLargeBytes) large_tails_[offsets_.size() - 1] = tail.size();
        held_.append(head.data(), head.size());
        held_.append(body.data(), body.size());
        held_.append(tail.data(), tail.size());
        ++count_;
    }
    void finish() {
        if (runs_.empty()) {
            sort_held();
            return;
        }
        if (!offsets_.empty()) spill();
        runs_.finish();
    }
    // Returns the next entry after finish(), null at the end. Valid until the next call.
    const Item* next() {
        if (!runs_.empty()) return runs_.next();
        if (position_ == order_of_held_.size()) return nullptr;
        const size_t i = order_of_held_[position_++];
        entry_ = held_entry(i);
        order_.read(entry_, item_);
        return &item_;
    }
    std::span<const uint8_t> entry() const { return runs_.empty() ? entry_ : runs_.entry(); }

    // Lets memory and files go, after the last entry has been used.
    void clear() {
        forget_held();
        runs_.clear();
    }

    int64_t count() const { return count_; }
    size_t runs() const { return runs_.count(); }
    const std::string& folder() const { return runs_.folder(); }

  private:
    int64_t bytes_held() const {
        return static_cast<int64_t>(held_.size() + offsets_.size() * 2 * sizeof(size_t));
    }
    std::span<const uint8_t> held_entry(size_t i) const {
        const size_t end = i + 1 == offsets_.size() ? held_.size() : offsets_[i + 1];
        return {held_.data() + offsets_[i], end - offsets_[i]};
    }

    void sort_held() {
        order_of_held_.resize(offsets_.size());
        for (size_t i = 0; i < offsets_.size(); ++i)
            order_of_held_[i] = i;
        Item first, second;
        std::stable_sort(order_of_held_.begin(), order_of_held_.end(),
                         sched::ticking([&](size_t a, size_t b) {
                             order_.read(held_entry(a), first);
                             order_.read(held_entry(b), second);
                             return order_.before(first, second);
                         }));
    }

    void spill() {
        sort_held();
        runs_.add([this](Run& run) {
            for (const size_t i : order_of_held_) {
                const std::span<const uint8_t> entry = held_entry(i);
                const auto large = large_tails_.find(i);
                const size_t tail = large == large_tails_.end() ? 0 : large->second;
                run.append(entry.first(entry.size() - tail), {}, entry.last(tail));
            }
            forget_held();
        });
    }
    void forget_held() {
        held_ = bson::Buffer();
        offsets_ = {};
        order_of_held_ = {};
        large_tails_.clear();
    }

    const Order order_;
    const int64_t memory_bytes_;
    bson::Buffer held_;
    sched::Vector<size_t> offsets_;                   // of the entries in held_
    std::unordered_map<size_t, size_t> large_tails_;  // sizes, of the entries that have one
    sched::Vector<size_t> order_of_held_;
    SortedRuns<Order> runs_;
    size_t position_ = 0;
    Item item_{};
    std::span<const uint8_t> entry_;  // in held_
    int64_t count_ = 0;
};

}  // namespace spill
