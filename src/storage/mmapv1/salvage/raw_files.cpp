#include "storage/mmapv1/salvage/raw_files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/database_name.h"
#include "base/dcheck.h"
#include "journal/format.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace mmapv1 {

namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kWindowBytes = 256 << 10;
constexpr std::string_view kNamespaceSuffix = ".ns";

// Calls `use` with the path below the dbpath of everything in the folder of a database. False:
// there is no such folder, or it cannot be read.
template <typename Use>
bool for_each_in(const std::string& db, os::FileSystem& files, const std::string& dbpath,
                 std::vector<Refusal>& refused, Use use) {
    const std::string folder = os::join(dbpath, db);
    std::vector<std::string> entries;
    try {
        if (files.is_link(folder)) {
            refused.push_back({db, fmt::format("{} is a symbolic link, and links in a dbpath are "
                                               "not followed",
                                               folder)});
            return false;
        }
        if (!files.is_directory(folder)) return false;
        entries = files.list(folder);
    } catch (const os::IoError& error) {
        refused.push_back({db, error.what()});
        return false;
    }
    for (const std::string& entry : entries)
        use(os::join(db, entry));
    return true;
}

// Whether an old server would have taken the folder for a database. Its owner does not matter.
bool looks_like_database(const std::string& folder, os::FileSystem& files,
                         const std::string& dbpath) {
    try {
        return files.exists(os::join(dbpath, fmt::format("{0}/{0}.ns", folder)));
    } catch (const os::IoError&) {
        return false;
    }
}

}  // namespace

RawFile::RawFile(os::FileSystem& files, const std::string& dbpath, std::string name)
    : name_(std::move(name)),
      file_(files.open(os::join(dbpath, name_), {.access = os::Access::read})),
      length_(static_cast<int64_t>(
          std::min<uint64_t>(file_->length(), std::numeric_limits<int32_t>::max()))) {}

const uint8_t* RawFile::bytes(int64_t offset, int64_t n) {
    if (offset < 0 || n < 0 || n > length_ || offset > length_ - n) return nullptr;
    const auto inside = [&] {
        return offset >= window_at_ &&
               offset + n <= window_at_ + static_cast<int64_t>(window_.size());
    };
    if (!inside()) {
        const int64_t from = offset / kPage * kPage;
        const int64_t needed = std::min(length_, (offset + n + kPage - 1) / kPage * kPage);
        const auto bad = unreadable_.lower_bound(from);
        if (bad != unreadable_.end() && *bad < needed) return nullptr;
        // Chains jump back and forth; only sequential reads get more than they ask for.
        const int64_t end = window_at_ + static_cast<int64_t>(window_.size());
        const bool goes_on = offset >= window_at_ && from <= end + kPage;
        const int64_t ahead =
            goes_on ? std::min(length_, std::max(needed, from + kWindowBytes)) : needed;
        if (!fill(from, ahead) && !fill(from, needed)) {
            for (int64_t at = from; at < needed; at += kPage)
                if (!fill(at, std::min(length_, at + kPage))) unreadable_.insert(at);
            if (!fill(from, needed)) return nullptr;
        }
    }
    return inside() ? window_.data() + (offset - window_at_) : nullptr;
}

bool RawFile::fill(int64_t from, int64_t to) {
    DCHECK(from >= 0 && from % kPage == 0 && from <= to && to <= length_);
    window_.resize(static_cast<size_t>(to - from));
    window_at_ = from;
    try {
        window_.resize(file_->read_at(static_cast<uint64_t>(from), window_));
        return static_cast<int64_t>(window_.size()) == to - from;
    } catch (const os::IoError&) {
        window_.clear();
        return false;
    }
}

RawFiles::RawFiles(os::FileSystem& files, const std::string& dbpath, const std::string& db,
                   bool directory_per_db)
    : prefix_(directory_per_db ? os::join(db, db) + "." : db + ".") {
    const auto take = [&](const std::string& path) {
        const auto name = parse_data_file_name(path);
        if (!name || name->db != db) return;
        try {
            auto file = std::make_unique<RawFile>(files, dbpath, path);
            if (name->number == journal::kNsFile)
                namespaces_ = std::move(file);
            else
                data_.emplace(static_cast<int>(name->number), std::move(file));
        } catch (const os::IoError& error) {
            refused_.push_back({path, error.what()});
        }
    };
    if (directory_per_db) {
        for_each_in(db, files, dbpath, refused_, take);
    } else {
        for (const std::string& entry : files.list(dbpath))
            take(entry);
    }
}

RawFile* RawFiles::data(int number) const {
    const auto it = data_.find(number);
    return it == data_.end() ? nullptr : it->second.get();
}

std::string RawFiles::name_of(int number) const {
    DCHECK(number >= 0);
    return prefix_ + std::to_string(number);
}

DatabasesOnDisk databases_on_disk(os::FileSystem& files, const std::string& dbpath,
                                  bool directory_per_db) {
    DatabasesOnDisk found;
    std::map<std::string, bool, std::less<>> names;  // whether the namespace file is there
    const auto take = [&](const std::string& path) {
        const auto name = parse_data_file_name(path);
        if (name && name->in_own_directory == directory_per_db) {
            bool& has_namespaces = names.try_emplace(std::string(name->db), false).first->second;
            has_namespaces = has_namespaces || name->number == journal::kNsFile;
        } else if (!name && path.ends_with(kNamespaceSuffix) && path != kNamespaceSuffix) {
            found.foreign.push_back(path);
        }
    };
    for (const std::string& entry : files.list(dbpath)) {
        if (!directory_per_db) {
            take(entry);
        } else if (valid_database_name(entry, true)) {
            if (for_each_in(entry, files, dbpath, found.refused, take))
                found.folders.push_back(entry);
        } else if (!base::valid_database_name(entry) && looks_like_database(entry, files, dbpath)) {
            found.foreign.push_back(entry);
        }
    }
    for (const auto& [name, has_namespaces] : names)
        (has_namespaces ? found.with_namespaces : found.without).push_back(name);
    return found;
}

std::vector<std::string> databases_with_files(os::FileSystem& files, const std::string& dbpath,
                                              bool directory_per_db,
                                              std::vector<Refusal>& refused) {
    DatabasesOnDisk found = databases_on_disk(files, dbpath, directory_per_db);
    refused = std::move(found.refused);
    std::vector<std::string> names;
    std::ranges::merge(found.with_namespaces, found.without, std::back_inserter(names));
    return names;
}

}  // namespace mmapv1
