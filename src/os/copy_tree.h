// os/copy_tree.h - a copy of a directory and all below it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "os/file_system.h"

namespace os {

struct TreeToCopy {
    std::string from;
    std::string to;  // is there, and has nothing of the names that are copied
    // Whether to leave out a file or directory, by its path below `from`.
    std::function<bool(const std::string& path)> leaves_out;
    // Called with the bytes of each piece before it is copied; what it throws ends the copy.
    std::function<void(uint64_t bytes)> before_piece;
};

// Copies what links lead to. All of it is on the device when it returns, but for the name of `to`
// itself. What a failed copy leaves is the caller's to remove.
void copy_tree(FileSystem& files, const TreeToCopy& tree);

// Gives a complete copy its name, which is on the device when it returns.
void rename_synced(FileSystem& files, const std::string& from, const std::string& to);

}  // namespace os
