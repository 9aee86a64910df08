#include "os/device_read_ahead.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

namespace os {

std::optional<int64_t> device_read_ahead_kb(const std::string& path, const std::string& root) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    const std::string number = fmt::format("{}:{}", major(info.st_dev), minor(info.st_dev));
    // A disk has a queue, a partition is a folder below its disk, and some file systems count as a
    // device of their own.
    for (const auto& file :
         {fmt::format("{}/sys/dev/block/{}/queue/read_ahead_kb", root, number),
          fmt::format("{}/sys/dev/block/{}/../queue/read_ahead_kb", root, number),
          fmt::format("{}/sys/class/bdi/{}/read_ahead_kb", root, number)}) {
        std::ifstream in(file);
        int64_t kb = 0;
        if (in >> kb) return kb;
    }
    return std::nullopt;
}

}  // namespace os
