// os/mapping.h - a whole file mapped into memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace os {

enum class MapKind {
    shared,        // stores reach the file
    private_copy,  // a stored-to page becomes a private copy; nothing reaches the file
};

class Mapping {
  public:
    Mapping() = default;
    virtual ~Mapping() = default;  // unmaps
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    virtual uint8_t* data() const = 0;
    virtual uint64_t size() const = 0;

    // Copies bytes into the mapping, inside its size. The same as a store through data(), but that
    // a simulated disk sees each of them: it shows what a power cut leaves between two.
    virtual void store(uint64_t offset, std::span<const uint8_t> bytes) {
        std::memcpy(data() + offset, bytes.data(), bytes.size());
    }

    // shared: writes the dirty pages to the device and, with `wait`, returns only when they are
    // there. Throws IoError.
    virtual void sync(bool wait) = 0;
    // shared: writes the dirty pages of that part and returns when the device has taken them, so
    // that a sync() has less to do; nothing is on the device for good before it. A platform that
    // cannot leaves all of it to sync(). Throws IoError.
    virtual void write_part(uint64_t /*offset*/, uint64_t /*length*/) {}
    // private_copy: throws all private copies away by mapping the file again at the same address.
    // Throws IoError; the mapping is then unusable. REQUIRES: no thread reads or writes it.
    virtual void remap() = 0;

    // Hint, which a remap keeps: pages are looked at in no order, so the system reads those that
    // are missing and nothing around them.
    virtual void expect_random_access() {}
    // Hint: that part is looked at soon, so the system begins to read it. Inside the size.
    virtual void read_ahead(uint64_t /*offset*/, uint64_t /*bytes*/) {}
};

}  // namespace os
