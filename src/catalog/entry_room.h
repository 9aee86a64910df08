// catalog/entry_room.h - whether a change of a document finds room for all its entries before its
// first byte: an undo may need space that a full disk does not have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "catalog/collection.h"
#include "storage/durability.h"

namespace catalog {

// The entries of one index that a change puts in or takes out.
struct Entries {
    int64_t count = 0;
    int64_t key_bytes = 0;
};

bool find_room_for_many(const storage::Durability& durability,
                        std::span<const std::unique_ptr<Index>> indexes,
                        std::span<const Entries> entries,
                        const std::function<void(int64_t bytes)>& make_room);

// Looks for room before the first byte of a change that has `keys` entries, entries_of(i) of them
// in index i. Returns true where the commit is sure to have room for all of them: make_room(bytes)
// has made it. No entry is refused then once the first one was written. If it returns false,
// check_room() is asked for each, and the space is there that those need which are put back then;
// where the disk is too full for that, this throws what the index says.
template <typename EntriesOf, typename MakeRoom>
bool find_room(const storage::Durability& durability,
               std::span<const std::unique_ptr<Index>> indexes, size_t keys,
               const EntriesOf& entries_of, const MakeRoom& make_room) {
    constexpr size_t kFewKeys = 32;  // which change a megabyte at most
    if (keys <= kFewKeys || !durability.journaling()) return true;
    std::vector<Entries> entries;
    for (size_t i = 0; i < indexes.size(); ++i)
        entries.push_back(entries_of(i));
    return find_room_for_many(durability, indexes, entries, make_room);
}

}  // namespace catalog
