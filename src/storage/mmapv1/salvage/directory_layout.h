// storage/mmapv1/salvage/directory_layout.h - whether a dbpath was made with --directoryperdb.
//
// A server looks for databases in one of the two ways, and sees nothing of what lies there in the
// other: given the wrong option it would seem empty, and take writes. `local` does not count, since
// every start makes it.
#pragma once

#include <string>
#include <vector>

#include "os/file_system.h"

namespace mmapv1 {

// Throws base::Error 72 where a namespace file lies in the other way. The text says what the dbpath
// has, and which option shows it. Returns sentences on what else lies there in the other way:
// `local`, in which users may have put data, data files without a namespace file, and folders that
// cannot be read.
std::vector<std::string> check_directory_layout(os::FileSystem& files, const std::string& dbpath,
                                                bool directory_per_db);

}  // namespace mmapv1
