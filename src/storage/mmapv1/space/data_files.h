// storage/mmapv1/space/data_files.h - the data files db.0, db.1, ... of one database (mmapv1 spec
// 2).
//
// Owns the order of the files, their headers and the never-allocated tails; turns a DiskLoc into an
// address. ExtentManager and RecordStore own the contents of the files. Reading needs the database
// lock shared, add_file() and take_tail() need it exclusive.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dcheck.h"
#include "bson/view.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "storage/mmapv1/mapping/disk_room.h"
#include "storage/mmapv1/mapping/views.h"
#include "storage/mmapv1/space/disk_loc.h"
#include "storage/mmapv1/space/layout.h"

namespace mmapv1 {

// The server's options for new files.
struct FilePolicy {
    bool directory_per_db = false;
    bool small_files = false;
    int32_t ns_bytes = 16 << 20;
    DiskRoom* room = nullptr;  // null: there is no disk to ask

    static constexpr int32_t kSmallFileBytesMax = 0x1ffc0000;
    static constexpr int32_t kFileBytesMax = 0x7ff00000;
    static_assert(kSmallFileBytesMax % 4096 == 0 && kFileBytesMax % 4096 == 0);
    static_assert(kSmallFileBytesMax < kFileBytesMax && kFileBytesMax <= kDataFileBytesMax);

    int32_t max_file_bytes() const { return small_files ? kSmallFileBytesMax : kFileBytesMax; }
    int32_t max_extent_bytes() const {
        return max_file_bytes() - kDataFileHeaderBytes - kDataFileTrailerBytes;
    }
    // "test.ns", "test.0" or "test/test.0" under the dbpath.
    std::string path(std::string_view db, std::string_view suffix) const;
    // A new file of zeros. Throws base::Error, 14031 where there is no room for it.
    MappedFile& make_file(Views& views, const std::string& path, int64_t length) const;
};

class DataFiles;

// How everything in the data files is written but the inside of buckets. A declared place must not
// reach into a bucket that has been checked: only links of a damaged or crafted file lead there,
// and the index code relies on the bucket. declare() throws base::Error then, before the write.
class SpaceViews {
  public:
    SpaceViews(const DataFiles& files, Views& views) : files_(files), views_(views) {}

    void declare(void* p, size_t bytes);
    template <typename T>
    T* writing(T* p) {
        declare(p, sizeof *p);
        return p;
    }
    template <typename T>
    T& writing(T& ref) {
        declare(&ref, sizeof ref);
        return ref;
    }
    // Declares and copies; the two may overlap.
    void write(void* to, const void* from, size_t bytes) {
        declare(to, bytes);
        __builtin_memmove(to, from, bytes);
    }

  private:
    const DataFiles& files_;
    Views& views_;
};

class DataFiles {
  public:
    DataFiles(Views& views, std::string db, const FilePolicy& policy);
    ~DataFiles();  // does not close the files: close_all() does
    DataFiles(const DataFiles&) = delete;
    DataFiles& operator=(const DataFiles&) = delete;

    // Opens db.0 up to the first missing or never-initialised file. Throws base::Error on a bad
    // header, naming the file.
    void open_all();
    void close_all();

    int count() const { return static_cast<int>(files_.size()); }
    const MappedFile& file(int n) const { return *files_[static_cast<size_t>(n)].mapped; }
    int64_t total_bytes() const;
    // Returns how many bytes extents could still be made of: the tails of all files, and files that
    // fit the disk and the limit of their number. A little less than the truth, for headers.
    int64_t bytes_to_grow() const;
    DataFileHeader& header(int n) const {
        DCHECK(n >= 0 && n < count());
        return *reinterpret_cast<DataFileHeader*>(files_[static_cast<size_t>(n)].base);
    }

    // Whether so many bytes from a location lie between the header and the trailer of a file.
    bool plausible(DiskLoc loc, uint64_t bytes = 1) const {
        return static_cast<uint32_t>(loc.file) < files_.size() &&
               holds(files_[static_cast<size_t>(loc.file)], loc.offset, bytes);
    }
    // The address of a location and of as many bytes. Throws base::Error when no such place exists:
    // the link that led here is damaged.
    uint8_t* at(DiskLoc loc, uint64_t bytes) const {
        if (static_cast<uint32_t>(loc.file) >= files_.size()) bad_location(loc);
        const File& file = files_[static_cast<size_t>(loc.file)];
        if (!holds(file, loc.offset, bytes)) bad_location(loc);
        return file.base + loc.offset;
    }
    template <typename T>
    T& as(DiskLoc loc) const {
        return *reinterpret_cast<T*>(at(loc, sizeof(T)));
    }
    RecordHeader& record(DiskLoc loc) const { return as<RecordHeader>(loc); }
    // The document in a record. Throws base::Error when it is damaged: nothing that walks through
    // documents looks at their lengths again. Costs some 0.1 us for 200 bytes.
    bson::Doc document(DiskLoc loc) const;
    DeletedRecord& deleted(DiskLoc loc) const { return as<DeletedRecord>(loc); }
    ExtentHeader& extent(DiskLoc loc) const { return as<ExtentHeader>(loc); }
    // Whether who walks through records or buckets has to ask for them (MappedFile).
    bool wants_read_ahead() const { return wants_read_ahead_; }
    // No error where there is no such place: a damaged link may lead there.
    void read_ahead(int32_t file, int64_t offset, int64_t bytes) const;
    // Bytes from a place that at() accepts to the end of what records may use.
    int64_t bytes_behind(DiskLoc loc) const {
        DCHECK(plausible(loc));
        return int64_t{files_[static_cast<size_t>(loc.file)].limit} -
               (loc.offset - kDataFileHeaderBytes);
    }
    // Whether a place has been checked for one index, whose bucket it is. A place that was checked
    // since the file was opened stays valid, since this process writes only valid data, and
    // SpaceViews keeps other writes away. This is for the records of buckets, whose bodies fill
    // them up to kCheckedBytes: no two of them overlap, so no two begin in the same kCheckedWindow
    // bytes. The place has been accepted by at(). Any thread.
    bool is_checked(DiskLoc loc, uint32_t index) const {
        return loc.offset % 4 == 0 &&
               checked_mark(loc).load(std::memory_order_relaxed) == mark_of(loc, index);
    }
    void set_checked(DiskLoc loc, uint32_t index) const {
        DCHECK(loc.offset % 4 == 0 && plausible(loc, kCheckedBytes));
        checked_mark(loc).store(mark_of(loc, index), std::memory_order_relaxed);
    }
    // The number of an index, for these two.
    uint32_t new_index() { return next_index_.fetch_add(1, std::memory_order_relaxed); }
    void clear_checked(DiskLoc loc) const {
        const uint32_t mark = checked_mark(loc).load(std::memory_order_relaxed);
        if (mark != 0 && offset_of(mark) == static_cast<uint32_t>(loc.offset) % kCheckedWindow)
            checked_mark(loc).store(0, std::memory_order_relaxed);
    }
    // Forgets all that begin in a stretch of a file: it is given up.
    void clear_checked(DiskLoc from, int64_t bytes) const;
    // Whether some of these bytes, which lie in the file, are of the body of one.
    bool in_checked(DiskLoc from, int64_t bytes) const {
        DCHECK(bytes >= 0 && plausible(from, static_cast<uint64_t>(bytes)));
        return in_checked(files_[static_cast<size_t>(from.file)], from.offset, bytes);
    }
    // Returns the same of an address in any of the files, or elsewhere. Needs the database lock
    // exclusive.
    bool in_checked(const void* p, size_t bytes) const {
        const auto address = reinterpret_cast<uintptr_t>(p);
        if (address - last_gap_.begin < last_gap_.bytes) return false;
        if (address - last_file_.begin >= last_file_.bytes) {
            find_stretch(address);
            return in_checked(p, bytes);
        }
        return in_checked(files_[last_number_], static_cast<int64_t>(address - last_file_.begin),
                          static_cast<int64_t>(bytes));
    }
    static constexpr int32_t kCheckedBytes = 8192;

    // `bytes` from the tail of file n, whose unused_length is large enough.
    DiskLoc take_tail(int n, int32_t bytes);
    // Adds the next file, large enough for an extent of that size where the limits allow (mmapv1
    // spec 2.3).
    void add_file(int32_t extent_bytes);
    // Size of file n by policy.
    static int64_t file_bytes(int n, int64_t previous_bytes, int32_t extent_bytes,
                              const FilePolicy& policy);

    SpaceViews& views() const { return space_views_; }
    // Returns the views for the inside of buckets.
    Views& bucket_views() const { return views_; }
    [[noreturn]] void damaged(DiskLoc loc, const char* what) const;
    [[noreturn]] void damaged_by_write() const;
    const FilePolicy& policy() const { return policy_; }
    const std::string& db() const { return db_; }

  private:
    static constexpr uint32_t kCheckedWindow = kCheckedBytes;
    using Mark = std::atomic<uint32_t>;
    struct FreeMarks {
        void operator()(Mark* marks) const { std::free(marks); }
    };
    // One for each window; 0: nothing there is checked. For files that are not read they take no
    // memory: a file may be sparse, and there may be thousands of them.
    using Marks = std::unique_ptr<Mark[], FreeMarks>;
    static Marks make_marks(size_t windows);
    struct File {
        MappedFile* mapped;
        uint8_t* base;
        uint32_t limit;  // bytes between header and trailer
        Marks marks;

        uintptr_t address() const { return reinterpret_cast<uintptr_t>(base); }
        uint64_t bytes() const { return static_cast<uint64_t>(mapped->length()); }
    };
    // A part of the address space: a file, or the gap between two.
    struct AddressRange {
        uintptr_t begin = 0;
        uint64_t bytes = 0;
    };
    static bool holds(const File& file, int32_t offset, uint64_t bytes) {
        return uint64_t{static_cast<uint32_t>(offset) - kDataFileHeaderBytes} + bytes <= file.limit;
    }
    static bool in_checked(const File& file, int64_t begin, int64_t bytes) {
        DCHECK(begin >= 0 && begin < static_cast<int64_t>(file.bytes()));
        const int64_t end = begin + bytes;
        const auto first = static_cast<uint64_t>(std::max<int64_t>(begin - kCheckedBytes, 0));
        for (uint64_t window = first / kCheckedWindow;
             window * kCheckedWindow < static_cast<uint64_t>(end); ++window) {
            const uint32_t mark = file.marks[window].load(std::memory_order_relaxed);
            if (mark == 0) continue;
            const auto start = static_cast<int64_t>(window * kCheckedWindow + offset_of(mark));
            if (start + kRecordHeaderBytes < end && start + kCheckedBytes > begin) return true;
        }
        return false;
    }
    // Which place in its window it is, counted from 1, since records begin at multiples of 4; in
    // the upper bits which index has it.
    static constexpr uint32_t kMarkBits = 12;
    static_assert(kCheckedWindow / 4 < 1U << kMarkBits);
    static uint32_t mark_of(DiskLoc loc, uint32_t index) {
        return (index << kMarkBits) + static_cast<uint32_t>(loc.offset) % kCheckedWindow / 4 + 1;
    }
    static uint32_t offset_of(uint32_t mark) { return (mark % (1U << kMarkBits) - 1) * 4; }
    Mark& checked_mark(DiskLoc loc) const {
        DCHECK(plausible(loc));
        return files_[static_cast<size_t>(loc.file)]
            .marks[static_cast<uint32_t>(loc.offset) / kCheckedWindow];
    }
    // Puts the file or the gap with that address into last_file_ and last_number_, or last_gap_.
    void find_stretch(uintptr_t address) const;
    [[noreturn]] void bad_location(DiskLoc loc) const;
    void attach(MappedFile& file);

    Views& views_;
    std::string db_;
    FilePolicy policy_;
    std::vector<File> files_;
    std::vector<size_t> by_address_;  // numbers of the files, by their place in memory
    std::atomic<uint32_t> next_index_{0};
    bool wants_read_ahead_ = false;
    // Writes go to a few records, and to the namespace file between them: two answers are kept.
    mutable AddressRange last_file_;
    mutable size_t last_number_ = 0;
    mutable AddressRange last_gap_;
    mutable SpaceViews space_views_;
};

}  // namespace mmapv1
