#include "storage/mmapv1/space/disk_loc.h"

#include <fmt/core.h>

namespace mmapv1 {

std::string to_string(DiskLoc loc) {
    return loc.is_null() ? "null" : fmt::format("{}:{:x}", loc.file, loc.offset);
}

}  // namespace mmapv1
