// catalog/key_change.h - what a change of a document means for one index: the keys that go and the
// keys that come.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/index_keys.h"

namespace catalog {

struct KeyChange {
    KeySet before;                  // of the old document
    KeySet after;                   // of the new one
    std::vector<uint32_t> removed;  // positions in `before`
    std::vector<uint32_t> added;    // positions in `after`

    // Finds `removed` and `added`, only keys that differ. `descending_bits`: see KeyGenerator.
    // REQUIRES: `before` and `after` are filled.
    void compare(uint32_t descending_bits);
    // Takes every key as one that goes or comes: the change of a record that moves.
    void take_all();

    size_t bytes() const { return static_cast<size_t>(before.bytes() + after.bytes()); }
    void trim() {
        before.trim();
        after.trim();
    }
};

}  // namespace catalog
