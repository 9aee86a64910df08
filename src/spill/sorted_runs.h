// spill/sorted_runs.h - sorted runs on the disk that are read as one.
//
// The Order says what an entry is, and how two compare:
//
//     struct Order {
//         using Item = ...;                     // an entry as it is compared
//         void read(std::span<const uint8_t> entry, Item& item) const;  // may point into the entry
//         bool before(const Item& a, const Item& b) const;
//     };
//
// Neither may look into the tail of an entry (Run::append): a large one is written once, and read
// when its entry is handed out. Merging moves only the heads.
//
// Equal entries come in the order in which their runs were added, and within a run as they were
// written: runs of a stable sort, added as their input came, give a stable sort of it all.
//
// Reading a run holds a chunk and the largest entry in memory, without its large tail. Only as many
// runs are therefore open at a time as fit into kMergeBytes, and no more than kRunsAtOnce; others
// are merged into larger ones before, each entry as often as the number of runs has digits to that
// base.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spill/run.h"

namespace spill {

constexpr size_t kRunsAtOnce = 32;
constexpr int64_t kMergeBytes = int64_t{24} << 20;

template <typename Order>
class SortedRuns {
  public:
    using Item = typename Order::Item;

    SortedRuns(Order order, std::string folder, Folder::Use use)
        : order_(std::move(order)), folder_(std::move(folder), use), values_(folder_) {}
    SortedRuns(const SortedRuns&) = delete;
    SortedRuns& operator=(const SortedRuns&) = delete;

    // `fill(Run&)` appends entries, sorted.
    template <typename Fill>
    void add(Fill&& fill) {
        auto run = std::make_unique<Run>(folder_, &values_);
        fill(*run);
        run->rewind();
        runs_.push_back({std::move(run), 0});
        while (const size_t count = too_many_alike())
            merge_last(count);
    }

    // Ends the additions; call after the last add().
    void finish() {
        while (const size_t count = too_many_left())
            merge_last(count);
        merge_.emplace(*this, 0);
    }
    // Returns the next entry after finish(), null at the end. Valid until the next call.
    const Item* next() {
        const Item* item = merge_->next();
        if (item == nullptr) return nullptr;
        const Run& run = merge_->run();
        entry_ = run.whole(memory_);
        if (!run.has_large_tail()) return item;
        order_.read(entry_, item_);
        return &item_;
    }
    std::span<const uint8_t> entry() const { return entry_; }

    void clear() {
        memory_.reset();
        merge_.reset();
        runs_.clear();
    }

    bool empty() const { return runs_.empty(); }
    size_t count() const { return runs_.size(); }
    const std::string& folder() const { return folder_.given(); }

  private:
    struct Leveled {
        std::unique_ptr<Run> run;
        int level = 0;  // how often its entries have been merged
    };

    // Some of the last runs, read as one.
    class Merge {
      public:
        Merge(SortedRuns& all, size_t from) : order_(all.order_) {
            sources_.reserve(all.runs_.size() - from);
            for (size_t i = from; i < all.runs_.size(); ++i) {
                Source& source = sources_.emplace_back();
                source.run = all.runs_[i].run.get();
                source.number = i;
                if (fetch(source)) heap_.push_back(&source);
            }
            std::make_heap(heap_.begin(), heap_.end(), later());
        }
        const Item* next() {
            if (last_ != nullptr && fetch(*last_)) {
                heap_.push_back(last_);
                std::push_heap(heap_.begin(), heap_.end(), later());
            }
            last_ = nullptr;
            if (heap_.empty()) return nullptr;
            std::pop_heap(heap_.begin(), heap_.end(), later());
            last_ = heap_.back();
            heap_.pop_back();
            return &last_->item;
        }
        const Run& run() const { return *last_->run; }

      private:
        struct Source {
            Run* run = nullptr;
            size_t number = 0;
            Item item;
        };
        bool fetch(Source& source) {
            if (!source.run->advance()) return false;
            order_.read(source.run->entry(), source.item);
            return true;
        }
        auto later() const {
            return [this](const Source* a, const Source* b) {
                if (order_.before(b->item, a->item)) return true;
                return !order_.before(a->item, b->item) && b->number < a->number;
            };
        }

        const Order& order_;
        std::vector<Source> sources_;
        std::vector<Source*> heap_;  // the earliest on top
        Source* last_ = nullptr;     // its entry was handed out
    };

    bool fits(size_t last) const {
        size_t bytes = 0;
        for (size_t i = runs_.size() - last; i < runs_.size(); ++i)
            bytes += runs_[i].run->memory_bytes();
        return static_cast<int64_t>(bytes) <= fair_share(kMergeBytes);
    }
    // How many of the last runs should be merged now; 0: none.
    size_t too_many_alike() const {
        size_t count = 0;
        while (count < runs_.size() && runs_[runs_.size() - 1 - count].level == runs_.back().level)
            ++count;
        return count >= kRunsAtOnce || (count > 1 && !fits(count)) ? count : 0;
    }
    size_t too_many_left() const {
        if (runs_.size() <= 2) return 0;
        if (runs_.size() <= 2 * kRunsAtOnce && fits(runs_.size())) return 0;
        size_t count = 2;
        while (count < kRunsAtOnce && count < runs_.size() && fits(count + 1))
            ++count;
        return count;
    }
    void merge_last(size_t count) {
        const size_t from = runs_.size() - count;
        auto merged = std::make_unique<Run>(folder_, &values_);
        {
            Merge merge(*this, from);
            while (merge.next() != nullptr)
                merged->append_from(merge.run());
        }
        merged->rewind();
        const int level = runs_.back().level + 1;
        runs_.resize(from);
        runs_.push_back({std::move(merged), level});
    }

    const Order order_;
    Folder folder_;
    Values values_;
    std::vector<Leveled> runs_;  // as they were added; levels fall
    std::optional<Merge> merge_;
    // Handed out last.
    std::span<const uint8_t> entry_;
    sched::Bytes memory_;  // has it if its tail is large
    Item item_{};          // is made of it then
};

}  // namespace spill
