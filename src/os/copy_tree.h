// os/copy_tree.h - a copy of a directory and all below it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "os/file_system.h"

namespace os {

struct TreeToCopy {
    std::string from;
    std::string to;  // is there
    // Whether to leave out a file or directory, by its path below `from`.
    std::function<bool(const std::string& path)> leaves_out;
    // Called with the bytes of each piece before it is copied; what it throws ends the copy.
    std::function<void(uint64_t bytes)> before_piece;
};

// A file in a directory that is being filled: a server refuses to start on it.
constexpr std::string_view kUnfinishedMark = "unfinished-copy";

// Copies what links lead to. Files may change, come and go while it does. Nothing is on the device
// before sync_tree(). What a failed copy leaves is the caller's to remove. A copied file shares no
// blocks with the other, nor has holes: a write to a mapped file for which the disk has no room
// ends the server.
void copy_tree(FileSystem& files, const TreeToCopy& tree);
// Makes a copy by copy_tree() equal to files that do not change any more: writes what differs, and
// removes what has gone. That takes little more than reading both.
void copy_rest_of_tree(FileSystem& files, const TreeToCopy& tree);
// Returns when a directory and all below it are on the device, but for its own name.
void sync_tree(FileSystem& files, const std::string& directory);

// Puts the mark into a directory, and takes it away; it has on the device, too, when they return.
void mark_unfinished(FileSystem& files, const std::string& directory);
void mark_finished(FileSystem& files, const std::string& directory);

// Gives a complete copy its name, which is on the device when it returns.
void rename_synced(FileSystem& files, const std::string& from, const std::string& to);

}  // namespace os
