#include "storage/mmapv1/salvage/dump_directory.h"

#include "base/dcheck.h"
#include "base/error.h"
#include "base/utf8.h"
#include "bson/json.h"

namespace mmapv1 {

namespace {

constexpr size_t kBufferBytes = 1 << 20;
// A file system allows 255 bytes; a number and the longest ending take the rest.
constexpr size_t kFileNameBytesMax = 230;
// The limit for a collection's options and indexes. A server makes some hundred bytes of each.
constexpr int64_t kMetadataBytesMax = int64_t{16} << 20;
constexpr size_t kShownNameBytesMax = 200;

// These say how the old files were made, or nothing once the collection is restored.
bool is_left_out(std::string_view option) {
    return option == "create" || option == "temp" || option == "$nExtents" || option == "uuid";
}

std::string shown(std::string_view what, std::string_view name) {
    return fmt::format("{} {}", what, base::utf8_front(name, kShownNameBytesMax));
}

bool has_json(bson::Doc doc) {
    try {
        bson::to_json(doc);
        return true;
    } catch (const base::Error&) {
        return false;
    }
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
    DCHECK(documents_ == nullptr && !db.empty());
    const std::string folder = os::join(path_, db);
    files_.create_directory(folder);
    const std::string stem = os::join(folder, file_name(collection));
    int& others = others_[stem];
    do {
        stem_ = others == 0 ? stem : fmt::format("{}_{}", stem, others + 1);
        ++others;
    } while (files_.exists(stem_ + ".bson"));
    documents_ =
        files_.open(stem_ + ".bson", {.access = os::Access::write, .create = true, .fresh = true});
    buffer_.clear();
}

void DumpDirectory::document(bson::Doc doc) {
    DCHECK(documents_ != nullptr);
    const auto bytes = doc.bytes();
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    if (buffer_.size() >= kBufferBytes) flush();
}

void DumpDirectory::flush() {
    DCHECK(documents_ != nullptr);
    documents_->write(buffer_);
    buffer_.clear();
}

std::vector<std::string> DumpDirectory::end(const SalvagedCollection& collection) {
    flush();
    documents_->sync();
    documents_.reset();
    std::vector<std::string> left_out;
    int64_t rest = kMetadataBytesMax;
    const auto fits = [&rest](bson::Doc part) {
        const bool does = part.size() <= rest && has_json(part);
        if (does) rest -= part.size();
        return does;
    };
    bson::Builder metadata;
    {
        bson::Builder options = metadata.sub_object("options");
        for (const bson::Element& option : collection.options) {
            if (is_left_out(option.name())) continue;
            bson::Builder alone;
            alone.append(option);
            if (fits(alone.doc()))
                options.append(option);
            else
                left_out.push_back(shown("option", option.name()));
        }
    }
    {
        bson::Builder indexes = metadata.sub_array("indexes");
        for (const bson::Object& index : collection.indexes) {
            if (fits(index))
                indexes.push(index);
            else
                left_out.push_back(shown("index", index["name"].as_string()));
        }
    }
    metadata.append("collectionName", base::as_utf8(collection.name)).append("type", "collection");
    const std::string text = bson::to_json(metadata.doc()) + "\n";
    const auto file = files_.open(stem_ + ".metadata.json",
                                  {.access = os::Access::write, .create = true, .fresh = true});
    file->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    file->sync();
    return left_out;
}

}  // namespace mmapv1
