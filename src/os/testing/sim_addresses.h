// os/testing/sim_addresses.h - where the mappings of a simulated process lie: at random, often
// where one was before that is gone. A system does that too, so that what was noted of an address
// may say something else of another file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

namespace os::sim {

// Any thread.
class Addresses {
  public:
    explicit Addresses(unsigned seed) : random_(seed) {}
    ~Addresses();
    Addresses(const Addresses&) = delete;
    Addresses& operator=(const Addresses&) = delete;

    // Whole pages, all zeros, which cost nothing until they are touched.
    uint8_t* take(size_t bytes);
    // A look at them ends the process from now on. Others of that length often get them.
    void give_back(uint8_t* begin, size_t bytes);

  private:
    // Nothing but addresses.
    static constexpr size_t kReservedBytes = size_t{1} << 30;
    struct Range {
        uint8_t* begin;
        size_t bytes;
        uint8_t* end() const { return begin + bytes; }
        bool has(const uint8_t* from, size_t length) const {
            return from >= begin && from + length <= end();
        }
    };

    size_t holes_for(size_t bytes) const;
    // Where one of that length was before and nothing is now; null: nowhere.
    uint8_t* place_left(size_t bytes);
    void reserve(size_t bytes);

    std::mutex mutex_;
    std::mt19937 random_;
    // These are sorted by address. Each mapping that is there has room for its hole: to give back
    // takes no memory.
    std::vector<Range> holes_;
    std::vector<Range> reserved_;
    size_t taken_ = 0;
    std::array<Range, 32> left_{};  // given back last
    size_t gifts_ = 0;
};

}  // namespace os::sim
