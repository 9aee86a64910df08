#include "storage/mmapv1/salvage/dump_directory.h"

#include "base/error.h"
#include "bson/json.h"

namespace mmapv1 {

namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr size_t kFileNameBytesMax = 240;  // with the longest ending a file system's 255

// These say how the old files were made, or nothing once the collection is restored.
bool is_left_out(std::string_view option) {
    return option == "create" || option == "temp" || option == "$nExtents";
}

}  // namespace

DumpDirectory::DumpDirectory(os::FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)) {
    if (files_.exists(path_) && !files_.is_directory(path_))
        base::fail(base::kInvalidOptions, "{} is there and is no directory: name a new one", path_);
    if (!files_.exists(path_)) {
        files_.create_directory(path_);
    } else if (!files_.list(path_).empty()) {
        base::fail(base::kInvalidOptions,
                   "directory {} is not empty: name a new one, so that nothing is mixed or "
                   "overwritten",
                   path_);
    }
    buffer_.reserve(kBufferBytes);
}

DumpDirectory::~DumpDirectory() = default;

std::string DumpDirectory::file_name(const std::string& collection) {
    std::string name;
    for (const char c : collection) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f ||
            std::string_view("/\\%:*?\"<>|").find(c) != std::string_view::npos)
            name += fmt::format("%{:02X}", byte);
        else
            name += c;
    }
    if (name.size() > kFileNameBytesMax) name.resize(kFileNameBytesMax);
    return name;
}

void DumpDirectory::begin(const std::string& db, const std::string& collection) {
    const std::string folder = os::join(path_, db);
    files_.create_directory(folder);
    stem_ = os::join(folder, file_name(collection));
    for (int n = 2; files_.exists(stem_ + ".bson"); ++n)
        stem_ = os::join(folder, fmt::format("{}_{}", file_name(collection), n));
    documents_ =
        files_.open(stem_ + ".bson", {.access = os::Access::write, .create = true, .fresh = true});
    buffer_.clear();
}

void DumpDirectory::document(bson::Doc doc) {
    const auto bytes = doc.bytes();
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kBufferBytes) flush();
}

void DumpDirectory::flush() {
    documents_->write(buffer_);
    buffer_.clear();
}

void DumpDirectory::end(const SalvagedCollection& collection) {
    flush();
    documents_->sync();
    documents_.reset();
    bson::Builder metadata;
    {
        bson::Builder options = metadata.sub_object("options");
        for (const bson::Element& option : collection.options)
            if (!is_left_out(option.name())) options.append(option);
    }
    {
        bson::Builder indexes = metadata.sub_array("indexes");
        for (const bson::Object& index : collection.indexes)
            indexes.push(index);
    }
    metadata.append("collectionName", collection.name).append("type", "collection");
    const std::string text = bson::to_json(metadata.doc()) + "\n";
    const auto file = files_.open(stem_ + ".metadata.json",
                                  {.access = os::Access::write, .create = true, .fresh = true});
    file->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    file->sync();
}

}  // namespace mmapv1
