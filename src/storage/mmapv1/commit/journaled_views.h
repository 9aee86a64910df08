// storage/mmapv1/commit/journaled_views.h - how the rooms above change data files: the files of a
// FileSet, and each declared range on its way to the next commit.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

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
          journal_(journal),
          wanted_(journal ? 1 : 0) {}

    // Without a journal declarations count only while some thread keeps an undo: between a call
    // with 1 and one with -1.
    void count_undo(int by) { wanted_.fetch_add(by, std::memory_order_relaxed); }

    bool exists(const std::string& relative_path) const override;
    MappedFile& adopt(const std::string& relative_path) override;
    int64_t unused_bytes(const std::string& relative_path) const override;
    void remove(const std::string& relative_path) override;
    MappedFile& open(const std::string& relative_path) override;
    MappedFile& create(const std::string& relative_path, int64_t length) override;
    void note_created(const MappedFile& file) override;
    void close(MappedFile& file) override;
    void declare(void* p, size_t bytes) override;
    bool keeps_undo() const override { return collector_.keeps_undo(); }
    void on_undo(std::function<void()> call) override { collector_.on_undo(std::move(call)); }
    void declare_for_good(void* p, size_t bytes) override;

  private:
    void note(void* p, uint32_t bytes);

    FileSet& files_;
    os::FileSystem& os_files_;
    WriteCollector& collector_;
    storage::Durability& durability_;
    const bool journal_;
    std::atomic<int> wanted_;  // 0: no declaration is wanted
};

}  // namespace mmapv1
