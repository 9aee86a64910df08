// storage/mmapv1/mapping/file_set.h - the open data files with their two mappings each
// (journal spec 1.1).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/file_system.h"
#include "os/mapping.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "storage/mmapv1/mapping/views.h"

namespace mmapv1 {

class DurableFile final : public MappedFile {
  public:
    // Maps the whole file; `private_view`: also copy-on-write. Throws base::Error.
    DurableFile(os::FileSystem& files, const std::string& dbpath, std::string relative_path,
                bool private_view);

    // Of random_access.cpp.
    bool wants_read_ahead() const override;
    void read_ahead(int64_t offset, int64_t bytes) override;
    void give_hints();

    uint8_t* view() const override { return view_; }
    int64_t length() const override { return length_; }
    const std::string& path() const override { return path_; }
    const std::string& full_path() const { return full_path_; }

    const uint8_t* shared_view() const { return shared_->data(); }
    // The one way for bytes to reach the data file while there is a journal.
    void store(uint64_t offset, std::span<const uint8_t> bytes) { shared_->store(offset, bytes); }
    // How journal entries name the file: "test" and 0, or journal::kNsFile.
    const std::string& prefix() const { return prefix_; }
    uint32_t number() const { return number_; }

    // Which opening of a file this is: no two of a process have the same, of one file neither.
    // Addresses are given again, so what is noted of a file is noted under this.
    uint64_t opening() const { return opening_; }

    // Writes the shared view's dirty pages. Any thread, no lock. A failure is fatal (17346): what
    // the journal still holds must not be let go.
    void flush(bool wait);
    // Writes those of a part, as far as the file goes, so that flush() has less to do at once. A
    // failure is fatal as well.
    void write_part(uint64_t offset, uint64_t length);

    // Set when a commit has copied from the private view, cleared by remap().
    void need_remap() { needs_remap_ = true; }
    // Throws the private copies away if there are any to be expected; global W or X.
    void remap_if_needed();

  private:
    const std::string path_;  // within dbpath
    const std::string full_path_;
    std::string prefix_;
    uint32_t number_ = 0;
    const uint64_t opening_;
    int64_t length_ = 0;
    std::unique_ptr<os::Mapping> shared_;
    std::unique_ptr<os::Mapping> private_;
    uint8_t* view_ = nullptr;
    std::atomic<bool> needs_remap_{false};
};

// All open files. The mutex is the "file-list lock": shared for looking up and for copying into
// views, exclusive for opening and closing. Methods without a note take it themselves. Those that
// take a path throw base::Error 73 unless it is the name of a data file (data_file_name.h).
class FileSet {
  public:
    FileSet(os::FileSystem& files, std::string dbpath)
        : files_(files), dbpath_(std::move(dbpath)) {}

    std::shared_mutex& mutex() { return mutex_; }

    // With a shared lock held: by an address in the private view, or by journal name; null if none.
    DurableFile* find_locked(const uint8_t* address) const;
    DurableFile* find_locked(std::string_view prefix, uint32_t number) const;
    // With a shared lock held: calls `use(file, offset, bytes)` with each part of a range of
    // private views, which may lie side by side; `last` is the file of the range before, or null.
    // False: some of the range lies in no file.
    template <typename Use>
    bool each_part_locked(std::span<const uint8_t> range, DurableFile*& last,
                          const Use& use) const {
        while (!range.empty()) {
            if (last == nullptr || range.data() < last->view() ||
                range.data() >= last->view() + last->length())
                last = find_locked(range.data());
            if (last == nullptr) return false;
            const auto offset = static_cast<uint64_t>(range.data() - last->view());
            const uint64_t room = static_cast<uint64_t>(last->length()) - offset;
            const auto part = range.first(std::min<uint64_t>(range.size(), room));
            use(*last, offset, part);
            range = range.subspan(part.size());
        }
        return true;
    }
    // In the order of their names: the circle that remaps go round.
    const std::map<std::string, std::shared_ptr<DurableFile>>& all_locked() const {
        return by_path_;
    }

    DurableFile* find(const std::string& relative_path) const;
    // Opens, or returns the file if it is open already.
    DurableFile& open(const std::string& relative_path, bool private_view);
    void close(const std::string& relative_path);
    void close_all();
    // A copy, so that flushing needs no lock; a file closed during it stays mapped until then.
    std::vector<std::shared_ptr<DurableFile>> snapshot() const;
    int64_t mapped_bytes() const { return mapped_bytes_; }

    // A new file of that length, all zeros, under its final name: made in _tmp/ beside it, renamed,
    // directory synced (mmapv1 spec 1.4). An old file of that name is replaced.
    void create_on_disk(const std::string& relative_path, int64_t length);
    // No error if there is none.
    void remove_on_disk(const std::string& relative_path);
    // Deletes every _tmp/, also in what may be a database's folder: whatever a crash has left there
    // is garbage.
    void remove_scratch();
    std::string full_path(const std::string& relative_path) const {
        return os::join(dbpath_, relative_path);
    }

  private:
    os::FileSystem& files_;
    const std::string dbpath_;
    mutable std::shared_mutex mutex_;
    std::map<std::string, std::shared_ptr<DurableFile>> by_path_;
    std::map<const uint8_t*, DurableFile*> by_address_;
    std::atomic<int64_t> mapped_bytes_{0};
    std::atomic<uint64_t> scratch_number_{0};
};

}  // namespace mmapv1
