// os/posix/file.h - an open file of Linux and its mappings, however it was opened.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "os/file.h"
#include "os/mapping.h"

namespace os {

// Throws IoError for the reason in errno.
[[noreturn]] void fail_io(const char* call, const std::string& path);

// Whether a failed stat says nothing about a name being there.
bool cannot_tell(int number);

// Calls `open_with`, which returns a descriptor or -1 with errno, until no signal interrupts it.
int open_uninterrupted(const std::function<int()>& open_with);

// Calls `open_with` with the flags of open(2) that the options ask for, and again with fewer where
// the file system does not know some that are only hints; it returns a descriptor or -1 with errno.
// Throws IoError.
std::unique_ptr<File> open_posix(const std::string& path, const OpenOptions& options,
                                 const std::function<int(int flags)>& open_with);

// Maps a file that open_posix has made.
std::unique_ptr<Mapping> map_posix(File& file, MapKind kind, uint64_t length);

// Syncs an open directory. Throws IoError.
void sync_posix_directory(int descriptor, const std::string& path);

// The names in a directory without "." and "..", sorted; closes the descriptor, which may be -1
// with errno. Throws IoError.
std::vector<std::string> list_posix(int descriptor, const std::string& path);

}  // namespace os
