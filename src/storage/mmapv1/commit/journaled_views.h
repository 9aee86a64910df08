// storage/mmapv1/commit/journaled_views.h - how the rooms above change data files: the files of a
// FileSet, and each declared range on its way to the next commit.
#pragma once

#include <string>

#include "os/file_system.h"
#include "storage/durability.h"
#include "storage/mmapv1/commit/write_collector.h"
#include "storage/mmapv1/mapping/file_set.h"
#include "storage/mmapv1/mapping/views.h"

namespace mmapv1 {

// Declarations go to the WriteCollector when there is a journal.
class JournaledViews final : public Views {
  public:
    JournaledViews(FileSet& files, os::FileSystem& os_files, WriteCollector& collector,
                   storage::Durability& durability, bool journal)
        : files_(files),
          os_files_(os_files),
          collector_(collector),
          durability_(durability),
          journal_(journal) {}

    bool exists(const std::string& relative_path) const override;
    MappedFile& adopt(const std::string& relative_path) override;
    int64_t unused_bytes(const std::string& relative_path) const override;
    void remove(const std::string& relative_path) override;
    MappedFile& open(const std::string& relative_path) override;
    MappedFile& create(const std::string& relative_path, int64_t length) override;
    void note_created(const MappedFile& file) override;
    void close(MappedFile& file) override;
    void declare(void* p, size_t bytes) override;

  private:
    FileSet& files_;
    os::FileSystem& os_files_;
    WriteCollector& collector_;
    storage::Durability& durability_;
    const bool journal_;
};

}  // namespace mmapv1
