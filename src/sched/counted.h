// sched/counted.h - memory that grows with what clients send, as it counts towards the operation
// (sched/memory.h): containers, blocks of bytes, objects of trees.
//
// Memory that a request or a document makes large is held in these, or in a bson::Buffer. Objects
// that are small whatever comes, and those that live for a moment and are no larger than the
// request, are not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sched/memory.h"

namespace sched {

// Returns about how many bytes malloc takes for a block of that size.
constexpr size_t footprint(size_t bytes) {
    constexpr size_t kLeast = 32, kOwn = 8, kUnit = 16;
    return bytes + kOwn <= kLeast ? kLeast : (bytes + kOwn + kUnit - 1) / kUnit * kUnit;
}

// These call operator new and delete, and count the bytes. Throws std::bad_alloc.
inline void* allocate_counted(size_t bytes) {
    memory::count_taken(footprint(bytes));
    try {
        return ::operator new(bytes);
    } catch (...) {
        memory::count_released(footprint(bytes));
        throw;
    }
}
inline void release_counted(void* p, size_t bytes) noexcept {
    ::operator delete(p);
    memory::count_released(footprint(bytes));
}

template <typename T>
class CountingAllocator {
  public:
    using value_type = T;
    using is_always_equal = std::true_type;

    CountingAllocator() = default;
    template <typename Other>
    CountingAllocator(const CountingAllocator<Other>&) {}

    T* allocate(size_t n) {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_array_new_length();
        return static_cast<T*>(allocate_counted(n * sizeof(T)));
    }
    void deallocate(T* p, size_t n) noexcept { release_counted(p, n * sizeof(T)); }
    bool operator==(const CountingAllocator&) const { return true; }
};

template <typename T>
using Vector = std::vector<T, CountingAllocator<T>>;
using String = std::basic_string<char, std::char_traits<char>, CountingAllocator<char>>;
template <typename T, typename Less = std::less<T>>
using Set = std::set<T, Less, CountingAllocator<T>>;
template <typename T, typename Hash>
using UnorderedSet = std::unordered_set<T, Hash, std::equal_to<T>, CountingAllocator<T>>;
template <typename Key, typename T>
using UnorderedMap = std::unordered_map<Key, T, std::hash<Key>, std::equal_to<Key>,
                                        CountingAllocator<std::pair<const Key, T>>>;

// The base of classes whose objects are made one by one: nodes of trees, states of groups.
class Counted {
  public:
    static void* operator new(size_t bytes) { return allocate_counted(bytes); }
    static void operator delete(void* p, size_t bytes) noexcept { release_counted(p, bytes); }

  protected:
    Counted() = default;
    Counted(const Counted&) = default;
    Counted(Counted&&) = default;
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) = default;
    ~Counted() = default;
};

// A block of bytes.
struct ReleaseBytes {
    size_t bytes = 0;
    void operator()(uint8_t* p) const noexcept { release_counted(p, bytes); }
};
using Bytes = std::unique_ptr<uint8_t[], ReleaseBytes>;
inline Bytes make_bytes(size_t bytes) {
    return Bytes(static_cast<uint8_t*>(allocate_counted(bytes)), ReleaseBytes{bytes});
}

// Counts the bytes that an object holds in containers that do not count, such as a string of a
// path.
class Charge {
  public:
    Charge() = default;
    explicit Charge(size_t bytes) { add(bytes); }
    ~Charge() { memory::count_released(bytes_); }
    Charge(Charge&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    void add(size_t bytes) {
        memory::count_taken(bytes);
        bytes_ += bytes;
    }

  private:
    size_t bytes_ = 0;
};

}  // namespace sched
