// os/confined_file_system.h - the real file system, but only what lies below one directory.
//
// For a directory whose content may come from elsewhere: whatever names lie in it, and whatever
// names its files hold, nothing outside of it is opened, changed or removed. Linux.
//
//  - A path must be the directory, or begin with it and go on with plain names: no "..", no NUL.
//  - No link below it is followed, at no part of a path. A link is seen (is_link, exists, list) and
//    can be removed or replaced; what it leads to stays.
//  - Only regular files and directories are opened: no pipe that would wait, no device.
//  - A file that has another name, a hard link, is not opened for writing: that name may lie
//    anywhere.
//
// Mount points below the directory are crossed: an operator puts those there, never a directory.
// The directory itself, and those named as `followed`, may be links; they are opened once, by the
// constructor, and stay what they were then.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "os/file_system.h"

namespace os {

// How a path is walked: by the kernel (openat2), where it can; or part by part, in older ones.
enum class PathWalk { by_kernel, by_part };

// Throws nothing: where there is no directory, calls throw IoError and questions answer no.
std::unique_ptr<FileSystem> confined_file_system(const std::string& directory,
                                                 const std::vector<std::string>& followed = {},
                                                 PathWalk walk = PathWalk::by_kernel);

}  // namespace os
