// storage/mmapv1/commit/journal_check.h - a look through the whole journal before any of it is
// applied, and before the start has changed anything.
#pragma once

#include <string>

#include "os/file_system.h"

namespace mmapv1 {

// Reads every section of the journal files in `directory`, which need not exist. Throws base::Error
// 13546 for a link there, for an operation that names no data file or database (data_file_name.h),
// or a file of an impossible length, or more files than any server makes, with journal file, offset
// of the section, and name; 14031 where the disk has no room for the files that are to be made; and
// whatever journal::FileReader throws.
void check_journal(os::FileSystem& files, const std::string& directory);

}  // namespace mmapv1
