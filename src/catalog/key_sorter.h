// catalog/key_sorter.h - brings the keys of an index build into order: in memory while they fit,
// else through sorted runs in temporary files (spill/run.h).
#pragma once

#include <cstdint>
#include <string>

#include "bson/builder.h"
#include "spill/sorter.h"
#include "storage/record_store.h"

namespace catalog {

class KeySorter {
  public:
    static constexpr size_t kDefaultMemory = size_t{64} << 20;

    // `descending`: bits of the fields whose order is reversed. Runs go to `directory`, created if
    // it is missing (empty: the system's), once more than `memory_bytes` are held; it must not be a
    // link.
    KeySorter(uint32_t descending, std::string directory, size_t memory_bytes = kDefaultMemory)
        : sorter_({descending}, std::move(directory), spill::Folder::Use::index_build,
                  memory_bytes) {}

    // Each of the three throws base::Error 14031 when a run cannot be written or read.
    void add(bson::Doc key, storage::RecordId id);
    void finish() { sorter_.finish(); }
    // Returns the keys after finish(), in order of key, then record. The key is valid until the
    // next call.
    bool next(bson::Doc* key, storage::RecordId* id);

    int64_t count() const { return sorter_.count(); }
    size_t runs() const { return sorter_.runs(); }
    const std::string& directory() const { return sorter_.folder(); }

  private:
    // An entry is the record id (8 bytes) and the key.
    struct Order {
        using Item = const uint8_t*;
        void read(std::span<const uint8_t> entry, Item& item) const { item = entry.data(); }
        bool before(const uint8_t* a, const uint8_t* b) const;

        uint32_t descending = 0;
    };

    spill::Sorter<Order> sorter_;
};

}  // namespace catalog
