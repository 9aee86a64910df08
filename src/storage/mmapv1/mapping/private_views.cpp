#include "storage/mmapv1/mapping/private_views.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "os/mapping.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "storage/mmapv1/mapping/page_set.h"

namespace mmapv1 {

namespace {

constexpr size_t kPage = PageSet::kPageBytes;
constexpr size_t kChunk = 1 << 20;

bool reads(os::File& file, uint64_t offset, std::span<uint8_t> to) {
    try {
        file.read_at(offset, to);
        return true;
    } catch (const os::IoError&) {
        return false;
    }
}

// Reads all of it. Calls `good` with each chunk, or with the pages of one that cannot be read as a
// whole; `bad` with each page that the device does not give.
template <typename Good, typename Bad>
void read_through(os::File& file, Good good, Bad bad) {
    std::vector<uint8_t> buffer(kChunk);
    const uint64_t length = file.length();
    for (uint64_t at = 0; at < length; at += kChunk) {
        const auto chunk = std::span(buffer).first(std::min<uint64_t>(kChunk, length - at));
        if (reads(file, at, chunk)) {
            good(at, chunk);
            continue;
        }
        for (size_t in_chunk = 0; in_chunk < chunk.size(); in_chunk += kPage) {
            const auto page = chunk.subspan(in_chunk, std::min(kPage, chunk.size() - in_chunk));
            if (reads(file, at + in_chunk, page))
                good(at + in_chunk, page);
            else
                bad(at + in_chunk, page.size());
        }
    }
}

class PrivateFile final : public MappedFile {
  public:
    PrivateFile(os::FileSystem& files, const std::string& dbpath, const std::string& path,
                const PrivateViews::Unreadable& unreadable)
        : path_(path) {
        const auto file = files.open(os::join(dbpath, path), {.access = os::Access::read});
        length_ = static_cast<int64_t>(file->length());
        if (unreadable && tell_of(*file, unreadable)) {
            copy(*file);
        } else {
            mapping_ = files.map(*file, os::MapKind::private_copy, file->length());
        }
    }
    uint8_t* view() const override { return mapping_ ? mapping_->data() : copy_.get(); }
    int64_t length() const override { return length_; }
    const std::string& path() const override { return path_; }

  private:
    struct Free {
        void operator()(uint8_t* p) const { std::free(p); }
    };

    // Whether there is anything to report; adjacent pages are reported together.
    bool tell_of(os::File& file, const PrivateViews::Unreadable& unreadable) const {
        PageSet bad;
        read_through(
            file, [](uint64_t, std::span<const uint8_t>) {},
            [&bad](uint64_t offset, size_t bytes) { bad.note(offset, bytes); });
        for (const auto [offset, bytes] : bad.ranges()) {
            const auto begin = static_cast<int64_t>(offset);
            unreadable(path_, begin, std::min(static_cast<int64_t>(bytes), length_ - begin));
        }
        return !bad.empty();
    }
    // In memory, of which only pages with something in them are used.
    void copy(os::File& file) {
        copy_.reset(static_cast<uint8_t*>(std::calloc(static_cast<size_t>(length_), 1)));
        if (!copy_) throw std::bad_alloc();
        read_through(
            file,
            [this](uint64_t offset, std::span<const uint8_t> bytes) {
                for (size_t at = 0; at < bytes.size(); at += kPage) {
                    const auto page = bytes.subspan(at, std::min(kPage, bytes.size() - at));
                    if (std::ranges::any_of(page, [](uint8_t byte) { return byte != 0; }))
                        std::ranges::copy(page, copy_.get() + offset + at);
                }
            },
            [](uint64_t, size_t) {});
    }

    std::string path_;
    int64_t length_ = 0;
    std::unique_ptr<os::Mapping> mapping_;
    std::unique_ptr<uint8_t, Free> copy_;  // in its place
};

[[noreturn]] void refuse(const std::string& path) {
    base::fail(base::kIllegalOperation, "cannot change {}: the files are open for reading only",
               path);
}

}  // namespace

PrivateViews::PrivateViews(os::FileSystem& files, std::string dbpath, Unreadable unreadable)
    : files_(files), dbpath_(std::move(dbpath)), unreadable_(std::move(unreadable)) {}

PrivateViews::~PrivateViews() = default;

bool PrivateViews::exists(const std::string& path) const {
    return files_.exists(os::join(dbpath_, path));
}

MappedFile& PrivateViews::open(const std::string& path) {
    data_file_name(path);
    open_.push_back(std::make_unique<PrivateFile>(files_, dbpath_, path, unreadable_));
    return *open_.back();
}

void PrivateViews::close(MappedFile& file) {
    std::erase_if(open_, [&](const auto& open) { return open.get() == &file; });
}

void PrivateViews::remove(const std::string& path) {
    refuse(path);
}

MappedFile& PrivateViews::create(const std::string& path, int64_t) {
    refuse(path);
}

void PrivateViews::note_created(const MappedFile& file) {
    refuse(file.path());
}

}  // namespace mmapv1
