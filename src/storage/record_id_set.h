// storage/record_id_set.h - a set of RecordIds for code that has to remember every record of a
// large collection: which ones a scan has given, which ones are live.
//
// It takes 2 to 4 bytes for each record of a few hundred bytes, some 90 for one that is far from
// all others. Ids are kept by windows of 2^16 places, a place being what lies between multiples of
// 4, where the engine's records begin; any other id is as good, only not in order. A window is an
// ascending list, and a bitmap once that takes less. The memory of its contents counts towards the
// operation (sched/memory.h). One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sched/counted.h"
#include "storage/record_store.h"

namespace storage {

class RecordIdSet {
  public:
    // Whether it is new.
    bool insert(RecordId id) { return windows_[window_of(id)].insert(low_of(id)); }
    bool contains(RecordId id) const {
        const auto it = windows_.find(window_of(id));
        return it != windows_.end() && it->second.contains(low_of(id));
    }
    void erase(RecordId id) {
        const auto it = windows_.find(window_of(id));
        if (it != windows_.end()) it->second.erase(low_of(id));
    }
    void clear() { windows_.clear(); }

    // Calls `visit` with the multiples of 4 among those from `first` to before `end`, in ascending
    // order. `visit` must not change the set. Takes a moment for each window between the two.
    template <typename Visit>
    void each_between(RecordId first, RecordId end, Visit&& visit) const {
        const uint64_t end_place = place_from(end);
        for (uint64_t at = place_from(first); at < end_place;) {
            const uint64_t next = std::min(end_place, (at / kWindow + 1) * kWindow);
            if (const auto it = windows_.find(at / kWindow); it != windows_.end())
                it->second.each(at % kWindow, (next - 1) % kWindow, [&](uint64_t low) {
                    visit(RecordId{(at / kWindow * kWindow + low) * kPlaceBytes});
                });
            at = next;
        }
    }

  private:
    static constexpr uint64_t kPlaceBytes = 4;
    static constexpr uint64_t kWindow = 1 << 16;

    class Window {
      public:
        bool insert(uint16_t low) {
            if (dense_) {
                if (contains(low)) return false;
                set_bit(low);
                return true;
            }
            const auto at = std::lower_bound(words_.begin(), words_.end(), low);
            if (at != words_.end() && *at == low) return false;
            if (words_.size() < kWords) {
                words_.insert(at, low);
                return true;
            }
            make_dense();
            set_bit(low);
            return true;
        }
        bool contains(uint16_t low) const {
            if (dense_) return (words_[low / kBits] >> low % kBits & 1) != 0;
            return std::binary_search(words_.begin(), words_.end(), low);
        }
        void erase(uint16_t low) {
            if (!contains(low)) return;
            if (dense_)
                words_[low / kBits] ^= static_cast<uint16_t>(1U << low % kBits);
            else
                words_.erase(std::lower_bound(words_.begin(), words_.end(), low));
        }
        template <typename Visit>
        void each(uint64_t first, uint64_t last, Visit&& visit) const {
            if (dense_) {
                for (uint64_t low = first; low <= last; ++low)
                    if (contains(static_cast<uint16_t>(low))) visit(low);
                return;
            }
            for (auto it = std::lower_bound(words_.begin(), words_.end(), first);
                 it != words_.end() && *it <= last; ++it)
                visit(*it);
        }

      private:
        static constexpr size_t kBits = 16;
        static constexpr size_t kWords = kWindow / kBits;

        void set_bit(uint16_t low) {
            words_[low / kBits] |= static_cast<uint16_t>(1U << low % kBits);
        }
        void make_dense() {
            sched::Vector<uint16_t> bits(kWords);
            bits.swap(words_);
            dense_ = true;
            for (const uint16_t low : bits)
                set_bit(low);
        }

        sched::Vector<uint16_t> words_;  // ascending places; dense: a bit for each place
        bool dense_ = false;
    };

    // Bijective, whatever the id.
    static uint64_t place_of(RecordId id) { return id.value >> 2 | id.value << 62; }
    // Returns the place of the next multiple of 4.
    static uint64_t place_from(RecordId id) { return (id.value + kPlaceBytes - 1) / kPlaceBytes; }
    static uint64_t window_of(RecordId id) { return place_of(id) / kWindow; }
    static uint16_t low_of(RecordId id) { return static_cast<uint16_t>(place_of(id) % kWindow); }

    sched::UnorderedMap<uint64_t, Window> windows_;  // by place / kWindow
};

}  // namespace storage
