// os/file_system.h - files by name, directories, mappings.
//
// Paths use '/'. Every call throws IoError on failure unless it says otherwise. Safe to call from
// several threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace os {

class Mapping;  // os/mapping.h
enum class MapKind;

class FileSystem {
  public:
    FileSystem() = default;
    virtual ~FileSystem() = default;
    FileSystem(const FileSystem&) = delete;
    FileSystem& operator=(const FileSystem&) = delete;

    virtual std::unique_ptr<File> open(const std::string& path, const OpenOptions& options) = 0;
    // Maps bytes 0..length of a file opened read_write, which must be that long. The mapping lives
    // on after the file is closed. It takes none of the last descriptors
    // (base/spare_descriptors.h).
    virtual std::unique_ptr<Mapping> map(File& file, MapKind kind, uint64_t length) = 0;

    // Whether OpenOptions::write_through means anything here.
    virtual bool has_write_through() const = 0;

    // These three: false where nothing has that name; where that is unknown, they throw like any
    // other call.
    virtual bool exists(const std::string& path) = 0;
    virtual bool is_directory(const std::string& path) = 0;
    // A symbolic link, wherever it leads. A system without any says false.
    virtual bool is_link(const std::string& /*path*/) { return false; }
    virtual uint64_t file_length(const std::string& path) = 0;
    virtual std::vector<std::string> list(const std::string& directory) = 0;  // names, sorted
    virtual void create_directory(const std::string& path) = 0;  // one level; fine if it exists
    virtual void remove(const std::string& path) = 0;            // a file or an empty directory
    virtual void rename(const std::string& from, const std::string& to) = 0;
    // Makes creations, renames and removals inside the directory durable.
    virtual void sync_directory(const std::string& path) = 0;
    virtual uint64_t free_bytes(const std::string& path) = 0;
    // Which device a path lies on; nothing if unknown.
    virtual std::optional<uint64_t> device_of(const std::string& path) = 0;

    // Removes a directory and everything below it, or a file; fine if it does not exist. A link is
    // removed itself: the file it leads to stays.
    void remove_all(const std::string& path);
};

// The real one.
FileSystem& real_file_system();

std::string join(std::string_view directory, std::string_view name);
std::string parent(std::string_view path);     // "a/b" -> "a", "b" -> "."
std::string base_name(std::string_view path);  // "a/b" -> "b"

}  // namespace os
