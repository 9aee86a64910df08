#include "storage/mmapv1/mapping/file_set.h"

#include <algorithm>

#include "base/damage.h"
#include "base/dcheck.h"
#include "base/log.h"
#include "journal/format.h"

namespace mmapv1 {

namespace {

std::atomic<uint64_t> g_openings{0};

// Calls what writes pages; that it fails is fatal.
template <typename Write>
void write_pages(const Write& write) {
    try {
        write();
    } catch (const os::IoError& e) {
        base::fatal(17346, fmt::format("error syncing data to disk: {}", e.what()));
    }
}

}  // namespace

DurableFile::DurableFile(os::FileSystem& files, const std::string& dbpath,
                         std::string relative_path, bool private_view)
    : path_(std::move(relative_path)), full_path_(os::join(dbpath, path_)), opening_(++g_openings) {
    number_ = data_file_name(path_).number;
    prefix_ = path_.substr(0, path_.rfind('.'));
    const auto file = files.open(full_path_, {.access = os::Access::read_write, .no_atime = true});
    length_ = static_cast<int64_t>(file->length());
    if (length_ == 0)
        base::fail(base::Damaged{base::kOperationFailed},
                   "data file {} is empty; restore it from a backup", file->path());
    shared_ = files.map(*file, os::MapKind::shared, file->length());
    if (private_view) private_ = files.map(*file, os::MapKind::private_copy, file->length());
    view_ = (private_ ? private_ : shared_)->data();
    give_hints();
}

void DurableFile::flush(bool wait) {
    write_pages([&] { shared_->sync(wait); });
}

void DurableFile::write_part(uint64_t offset, uint64_t length) {
    const auto end = static_cast<uint64_t>(length_);
    DCHECK(offset < end);
    write_pages([&] { shared_->write_part(offset, std::min(length, end - offset)); });
}

void DurableFile::remap_if_needed() {
    if (!private_ || !needs_remap_.exchange(false)) return;
    try {
        private_->remap();
    } catch (const os::IoError& e) {
        base::fatal(13601, fmt::format("Couldn't remap private view: {}", e.what()));
    }
}

DurableFile* FileSet::find_locked(const uint8_t* address) const {
    auto after = by_address_.upper_bound(address);
    if (after == by_address_.begin()) return nullptr;
    DurableFile* file = std::prev(after)->second;
    return address < file->view() + file->length() ? file : nullptr;
}

DurableFile* FileSet::find_locked(std::string_view prefix, uint32_t number) const {
    std::string path(prefix);
    path += '.';
    path += number == journal::kNsFile ? "ns" : std::to_string(number);
    const auto found = by_path_.find(path);
    return found == by_path_.end() ? nullptr : found->second.get();
}

DurableFile* FileSet::find(const std::string& relative_path) const {
    const std::shared_lock lock(mutex_);
    const auto found = by_path_.find(relative_path);
    return found == by_path_.end() ? nullptr : found->second.get();
}

DurableFile& FileSet::open(const std::string& relative_path, bool private_view) {
    if (DurableFile* file = find(relative_path)) return *file;
    auto file = std::make_shared<DurableFile>(files_, dbpath_, relative_path, private_view);
    const std::unique_lock lock(mutex_);
    const auto [at, added] = by_path_.emplace(relative_path, file);
    if (!added) return *at->second;  // another thread was faster
    try {
        by_address_.emplace(file->view(), file.get());
    } catch (...) {
        // Open, it would be written to without knowing which file these bytes belong to.
        by_path_.erase(at);
        throw;
    }
    mapped_bytes_ += file->length();
    return *file;
}

void FileSet::close(const std::string& relative_path) {
    std::shared_ptr<DurableFile> closing;  // unmapped after the lock is gone
    const std::unique_lock lock(mutex_);
    const auto found = by_path_.find(relative_path);
    if (found == by_path_.end()) return;
    closing = found->second;
    by_address_.erase(closing->view());
    mapped_bytes_ -= closing->length();
    by_path_.erase(found);
}

void FileSet::close_all() {
    const std::unique_lock lock(mutex_);
    by_address_.clear();
    by_path_.clear();
    mapped_bytes_ = 0;
}

std::vector<std::shared_ptr<DurableFile>> FileSet::snapshot() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<DurableFile>> result;
    result.reserve(by_path_.size());
    for (const auto& [path, file] : by_path_)
        result.push_back(file);
    return result;
}

void FileSet::create_on_disk(const std::string& relative_path, int64_t length) {
    data_file_name(relative_path);
    const std::string path = full_path(relative_path);
    const std::string directory = os::parent(path);
    if (relative_path.find('/') != std::string::npos) {
        // Also when it is there: a kill may have come between the two.
        files_.create_directory(directory);
        files_.sync_directory(os::parent(directory));
    }
    const std::string scratch = os::join(directory, kScratchDirectory);
    files_.create_directory(scratch);
    const std::string growing = os::join(scratch, std::to_string(++scratch_number_));
    if (files_.exists(growing)) files_.remove(growing);  // a crash has left it
    try {
        const auto file =
            files_.open(growing, {.access = os::Access::read_write, .create = true, .fresh = true});
        file->allocate(static_cast<uint64_t>(length));
        file->sync();
    } catch (const os::IoError&) {
        if (files_.exists(growing)) files_.remove(growing);
        throw;
    }
    files_.rename(growing, path);
    files_.sync_directory(directory);
}

void FileSet::remove_on_disk(const std::string& relative_path) {
    data_file_name(relative_path);
    const std::string path = full_path(relative_path);
    if (files_.exists(path)) files_.remove(path);
}

void FileSet::remove_scratch() {
    files_.remove_all(os::join(dbpath_, kScratchDirectory));
    for (const std::string& name : files_.list(dbpath_)) {
        const std::string directory = os::join(dbpath_, name);
        if (valid_database_name(name, true) && files_.is_directory(directory))
            files_.remove_all(os::join(directory, kScratchDirectory));
    }
}

}  // namespace mmapv1
