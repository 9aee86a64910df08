#include "storage/mmapv1/space/data_files.h"

#include <algorithm>
#include <limits>
#include <new>

#include "base/damage.h"
#include "base/dcheck.h"
#include "bson/validate.h"
#include "sched/tick.h"

namespace mmapv1 {

std::string FilePolicy::path(std::string_view db, std::string_view suffix) const {
    return directory_per_db ? fmt::format("{0}/{0}.{1}", db, suffix)
                            : fmt::format("{}.{}", db, suffix);
}

MappedFile& FilePolicy::make_file(Views& views, const std::string& path, int64_t length) const {
    if (room == nullptr) return views.create(path, length);
    return room->make_file(path, length,
                           [&]() -> MappedFile& { return views.create(path, length); });
}

void SpaceViews::declare(void* p, size_t bytes) {
    if (files_.in_checked(p, bytes)) files_.damaged_by_write();
    views_.declare(p, bytes);
}

DataFiles::DataFiles(Views& views, std::string db, const FilePolicy& policy)
    : views_(views), db_(std::move(db)), policy_(policy), space_views_(*this, views) {}

DataFiles::~DataFiles() = default;

namespace {

void check_header(const MappedFile& file, int number) {
    const auto& header = *reinterpret_cast<const DataFileHeader*>(file.view());
    const int32_t level = header.version_minor & kVersionMinorLevel;
    const int32_t bits = header.version_minor & ~(kVersionMinorLevel | kVersionMinorLists30);
    if (header.version != kVersionMajor || bits != 0 ||
        (level != kVersionMinorPlain && level != kVersionMinorPlugins))
        base::fail(base::Damaged{base::kInternalError},
                   "data file {} has version {}.{}, this server reads 4.5, 4.6, 4.21 and 4.22: use "
                   "a server of the version that wrote it",
                   file.path(), header.version, header.version_minor);
    if (header.file_length != file.length())
        base::fail(base::Damaged{base::kInternalError},
                   "data file {} is {} bytes long but its header says {}: it was cut or copied "
                   "while in use; restore it from a backup",
                   file.path(), file.length(), header.file_length);
    const int64_t end =
        static_cast<int64_t>(header.unused.offset) + header.unused_length + kDataFileTrailerBytes;
    if (header.unused.file != number || header.unused.offset < kDataFileHeaderBytes ||
        header.unused.offset % 4 != 0 || header.unused_length < 0 || end != header.file_length)
        base::fail(base::Damaged{base::kInternalError},
                   "header of data file {} is damaged: free tail at {} with {} bytes; restore it "
                   "from a backup",
                   file.path(), to_string(header.unused), header.unused_length);
}

bool legal_length(int64_t bytes) {
    return bytes >= 16 << 20 && bytes <= 0x7fffffff && bytes % 4096 == 0;
}

}  // namespace

void DataFiles::open_all() {
    for (int n = 0; n < kDataFilesMax; n++) {
        const std::string path = policy_.path(db_, std::to_string(n));
        if (!views_.exists(path)) return;
        MappedFile& file = views_.open(path);
        if (!legal_length(file.length())) {
            const int64_t length = file.length();
            views_.close(file);
            base::fail(base::Damaged{base::kInternalError},
                       "data file {} has {} bytes: not a multiple of 4096 from 16 MB to 2 GB; "
                       "restore it from a backup",
                       path, length);
        }
        if (reinterpret_cast<const DataFileHeader*>(file.view())->version == 0) {
            views_.close(file);  // preallocated, not ours yet
            return;
        }
        sched::undo_if_fails([&] { attach(file); }, [&] { views_.close(file); });
        check_header(file, n);
    }
}

void DataFiles::close_all() {
    for (const File& file : files_)
        views_.close(*file.mapped);
    files_.clear();
    by_address_.clear();
    last_file_ = last_gap_ = {};
}

// Zeros that the system gives when they are examined.
DataFiles::Marks DataFiles::make_marks(size_t windows) {
    Marks marks(static_cast<Mark*>(std::calloc(windows, sizeof(Mark))));
    if (marks == nullptr) throw std::bad_alloc();
    return marks;
}

// Attaches the file as a whole, or nothing of it.
void DataFiles::attach(MappedFile& file) {
    DCHECK(legal_length(file.length()));
    const auto limit =
        static_cast<uint32_t>(file.length() - kDataFileHeaderBytes - kDataFileTrailerBytes);
    const auto windows = static_cast<size_t>(file.length()) / kCheckedWindow + 1;
    Marks marks = make_marks(windows);
    by_address_.reserve(files_.size() + 1);
    files_.push_back({&file, file.view(), limit, std::move(marks)});
    by_address_.push_back(files_.size() - 1);
    DCHECK(by_address_.size() == files_.size());
    std::ranges::sort(by_address_, {}, [this](size_t n) { return files_[n].address(); });
    wants_read_ahead_ = file.wants_read_ahead();
    last_file_ = last_gap_ = {};
}

void DataFiles::clear_checked(DiskLoc from, int64_t bytes) const {
    DCHECK(bytes >= 0 && plausible(from, static_cast<uint64_t>(bytes)));
    const auto& marks = files_[static_cast<size_t>(from.file)].marks;
    for (int64_t window = int64_t{from.offset} / kCheckedWindow;
         window * kCheckedWindow < from.offset + bytes; ++window) {
        auto& mark = marks[static_cast<size_t>(window)];
        const uint32_t value = mark.load(std::memory_order_relaxed);
        const int64_t start = window * kCheckedWindow + offset_of(value);
        if (value != 0 && start >= from.offset && start < from.offset + bytes)
            mark.store(0, std::memory_order_relaxed);
    }
}

void DataFiles::find_stretch(uintptr_t address) const {
    const auto after = std::ranges::upper_bound(by_address_, address, {},
                                                [this](size_t n) { return files_[n].address(); });
    uintptr_t gap = 0;
    if (after != by_address_.begin()) {
        const size_t number = *std::prev(after);
        const File& before = files_[number];
        gap = before.address() + before.bytes();
        if (address < gap) {
            last_file_ = {before.address(), before.bytes()};
            last_number_ = number;
            return;
        }
    }
    last_gap_ = {gap, (after == by_address_.end() ? UINTPTR_MAX : files_[*after].address()) - gap};
    DCHECK(address - last_gap_.begin < last_gap_.bytes);
}

void DataFiles::read_ahead(int32_t file, int64_t offset, int64_t bytes) const {
    if (static_cast<uint32_t>(file) >= files_.size()) return;
    files_[static_cast<size_t>(file)].mapped->read_ahead(offset, bytes);
}

int64_t DataFiles::total_bytes() const {
    int64_t sum = 0;
    for (const File& file : files_)
        sum += file.mapped->length();
    return sum;
}

int64_t DataFiles::bytes_to_grow() const {
    int64_t tails = 0;
    for (int n = 0; n < count(); n++)
        tails += header(n).unused_length;
    const int64_t by_number = int64_t{kDataFilesMax - count()} * policy_.max_extent_bytes();
    if (policy_.room == nullptr) return tails + by_number;
    const uint64_t free = policy_.room->free_bytes(policy_.path(db_, "0"));
    const auto on_disk =
        static_cast<int64_t>(std::min<uint64_t>(free, std::numeric_limits<int64_t>::max() / 2));
    return tails + std::min(on_disk, by_number);
}

DiskLoc DataFiles::take_tail(int n, int32_t bytes) {
    DataFileHeader& header = this->header(n);
    DCHECK(bytes >= kMinExtentBytes && bytes % 4 == 0 && bytes <= header.unused_length);
    const DiskLoc loc{n, header.unused.offset};
    views_.declare(&header.unused, sizeof header.unused + sizeof header.unused_length);
    header.unused.offset += bytes;
    header.unused_length -= bytes;
    DCHECK(header.unused.offset + header.unused_length + kDataFileTrailerBytes ==
           header.file_length);
    return loc;
}

int64_t DataFiles::file_bytes(int n, int64_t previous_bytes, int32_t extent_bytes,
                              const FilePolicy& policy) {
    DCHECK(n >= 0 && n < kDataFilesMax);
    const int64_t max = policy.max_file_bytes();
    int64_t size = n >= 5 ? max : int64_t{64 << 20} << n >> (policy.small_files ? 2 : 0);
    const int64_t wanted =
        std::max(previous_bytes, static_cast<int64_t>(extent_bytes) + kDataFileHeaderBytes);
    while (size < wanted && size < max)
        size = size > max / 2 ? max : size * 2;
    DCHECK(legal_length(size) && size <= max);
    return size;
}

void DataFiles::add_file(int32_t extent_bytes) {
    const int n = count();
    if (n >= kDataFilesMax)
        base::fail(base::kInternalError, "database {} has {} data files, no more are possible", db_,
                   n);
    const std::string path = policy_.path(db_, std::to_string(n));
    const int64_t previous = n == 0 ? 0 : files_.back().mapped->length();
    // One that is there was made in advance; anything else is not ours to take.
    if (views_.exists(path) && !legal_length(views_.unused_bytes(path)))
        base::fail(base::kInternalError,
                   "data file {} is in the way: it is no part of database {}, but it has been "
                   "used, or has no length that a data file can have; move it away",
                   path, db_);
    // One that is made and not attached would be in the way of all later ones.
    const sched::Uninterruptible whole;
    MappedFile& file =
        views_.exists(path)
            ? views_.adopt(path)
            : policy_.make_file(views_, path, file_bytes(n, previous, extent_bytes, policy_));
    views_.note_created(file);
    const auto length = static_cast<int32_t>(file.length());
    auto& header = *reinterpret_cast<DataFileHeader*>(file.view());
    // The file stays, empty, when the change that needs it is taken back.
    views_.declare_for_good(&header, offsetof(DataFileHeader, reserved));
    header.version = kVersionMajor;
    header.version_minor = kVersionMinorPlain;
    header.file_length = length;
    header.unused = {n, kDataFileHeaderBytes};
    header.unused_length = length - kDataFileHeaderBytes - kDataFileTrailerBytes;
    header.free_list_start = DiskLoc::null();
    header.free_list_end = DiskLoc::null();
    attach(file);
}

namespace {

// Counts the time of reading a document (sched/tick.h), if it is large: an operation that reads
// many of them has to count it. In the middle of a read no lock is released and no interrupt is
// checked.
void count_reading(int64_t bytes) {
    constexpr int64_t kLargeBytes = 4096;
    if (bytes < kLargeBytes) return;
    sched::note_bytes(bytes, sched::PerTick::converted);
}

}  // namespace

bson::Doc DataFiles::document(DiskLoc loc) const {
    constexpr int kDamagedDocument = 10334;
    constexpr int64_t kReadAheadBytes = 16 << 10;  // less is some pages
    const RecordHeader& header = record(loc);
    const int64_t available =
        std::min<int64_t>(header.length, bytes_behind(loc)) - static_cast<int64_t>(sizeof header);
    if (available >= kReadAheadBytes && wants_read_ahead_)
        read_ahead(loc.file, loc.offset, available);
    const std::string fault =
        bson::validate(header.data(), static_cast<size_t>(std::max<int64_t>(available, 0)), nullptr,
                       bson::Source::data_file);
    if (!fault.empty())
        base::fail(base::Damaged{kDamagedDocument},
                   "database {} is damaged: the document at {} cannot be read: {}; check it with "
                   "dbpath_check",
                   db_, to_string(loc), fault);
    const bson::Doc document(header.data());
    count_reading(document.size());
    return document;
}

void DataFiles::damaged(DiskLoc loc, const char* what) const {
    base::fail(base::Damaged{base::kInternalError},
               "database {} is damaged: {} at {}; check it with dbpath_check, repair it or restore "
               "it from a backup",
               db_, what, to_string(loc));
}

void DataFiles::damaged_by_write() const {
    base::fail(base::Damaged{base::kInternalError},
               "database {} is damaged: links of its records or extents lead into an index; check "
               "it with dbpath_check, repair it or restore it from a backup",
               db_);
}

void DataFiles::bad_location(DiskLoc loc) const {
    base::fail(base::Damaged{base::kInternalError},
               "database {} is damaged: a link leads to {}, which is no place in its {} data "
               "files; check it with dbpath_check",
               db_, to_string(loc), count());
}

}  // namespace mmapv1
