// catalog/key_sorter.h - brings the keys of an index build into order: in memory while they fit,
// else through sorted runs in temporary files that are merged at the end.
//
// A run is a file "extsort.<process>.<n>" that only its owner can read (mode 0600) and that nobody
// had before; it goes with the sorter. One that a crash leaves behind is the directory's affair.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "os/file_system.h"
#include "storage/record_store.h"

namespace catalog {

class KeySorter {
  public:
    static constexpr size_t kDefaultMemory = size_t{64} << 20;

    // `descending`: bits of the fields whose order is reversed. Runs go to `directory`, created if
    // it is missing (empty: the system's), once more than `memory_bytes` are held; it must not be a
    // link.
    KeySorter(uint32_t descending, std::string directory, size_t memory_bytes = kDefaultMemory);
    ~KeySorter();
    KeySorter(const KeySorter&) = delete;
    KeySorter& operator=(const KeySorter&) = delete;

    // All three throw base::Error 14031 when a run cannot be written or read.
    void add(bson::Doc key, storage::RecordId id);
    void finish();
    // After finish(), in order of key, then record. The key is valid until the next call.
    bool next(bson::Doc* key, storage::RecordId* id);

    int64_t count() const { return count_; }
    size_t runs() const { return runs_.size(); }
    const std::string& directory() const { return directory_; }

  private:
    class Run;
    void sort_held();
    void spill();
    bool less(const uint8_t* a, const uint8_t* b) const;

    const uint32_t descending_;
    const std::string directory_;
    const size_t memory_bytes_;
    bson::Buffer held_;  // entries: record id (8 bytes), key document
    std::vector<size_t> offsets_;
    std::unique_ptr<os::FileSystem> files_;  // null before the first run
    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<Run*> heap_;  // smallest current entry on top
    Run* last_ = nullptr;     // its entry was handed out
    size_t position_ = 0;
    int64_t count_ = 0;
};

}  // namespace catalog
