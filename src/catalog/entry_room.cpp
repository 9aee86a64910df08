#include "catalog/entry_room.h"

#include "base/dcheck.h"

namespace catalog {

bool find_room_for_many(const storage::Durability& durability,
                        std::span<const std::unique_ptr<Index>> indexes,
                        std::span<const Entries> entries,
                        const std::function<void(int64_t bytes)>& make_room) {
    const int64_t sure_bytes = durability.commit_bytes() / 4 * 3;
    DCHECK(indexes.size() == entries.size());
    int64_t bytes = 0;
    for (size_t i = 0; i < indexes.size(); ++i) {
        const auto [count, key_bytes] = entries[i];
        if (count > 0) bytes += indexes[i]->store->insertion_bytes(count, key_bytes);
    }
    if (bytes <= sure_bytes) {
        if (bytes > 0) make_room(bytes);
        return true;
    }
    for (size_t i = 0; i < indexes.size(); ++i) {
        const auto [count, key_bytes] = entries[i];
        if (count > 0) indexes[i]->store->reserve(count, key_bytes);
    }
    return false;
}

}  // namespace catalog
