#include "storage/mmapv1/mapping/private_views.h"

#include "base/error.h"
#include "storage/mmapv1/mapping/data_file_name.h"

namespace mmapv1 {

namespace {

class PrivateFile final : public MappedFile {
  public:
    PrivateFile(os::FileSystem& files, const std::string& dbpath, const std::string& path)
        : path_(path) {
        const auto file = files.open(os::join(dbpath, path), {.access = os::Access::read});
        mapping_ = files.map(*file, os::MapKind::private_copy, file->length());
    }
    uint8_t* view() const override { return mapping_->data(); }
    int64_t length() const override { return static_cast<int64_t>(mapping_->size()); }
    const std::string& path() const override { return path_; }

  private:
    std::string path_;
    std::unique_ptr<os::Mapping> mapping_;
};

[[noreturn]] void refuse(const std::string& path) {
    base::fail(base::kIllegalOperation, "cannot change {}: the files are open for reading only",
               path);
}

}  // namespace

PrivateViews::PrivateViews(os::FileSystem& files, std::string dbpath)
    : files_(files), dbpath_(std::move(dbpath)) {}

PrivateViews::~PrivateViews() = default;

bool PrivateViews::exists(const std::string& path) const {
    return files_.exists(os::join(dbpath_, path));
}

MappedFile& PrivateViews::open(const std::string& path) {
    data_file_name(path);
    open_.push_back(std::make_unique<PrivateFile>(files_, dbpath_, path));
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
