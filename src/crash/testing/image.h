// crash/testing/image.h - what the data files of a dbpath hold, in short.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "os/testing/sim_file_system.h"

namespace crash {

// The print of each data file, by its path below the dbpath. A database without a namespace file
// does not exist, so what a drop has left of it does not count; nor do files of nothing but zeros.
using Image = std::map<std::string, uint64_t>;
using ImagePtr = std::shared_ptr<const Image>;

// Returns the files as the program that runs on the disk sees them, without one that is about to
// go.
ImagePtr image_of(os::SimFileSystem& disk, const std::string& without = {});
uint64_t hash_of(const Image& image);
// Returns how two images differ, for people.
std::string difference(const Image& found, const Image& wanted);

}  // namespace crash
