#include "os/data_ranges.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "os/posix/descriptor.h"

namespace os {

struct DataRanges::File {
    Descriptor descriptor;
};

DataRanges::DataRanges(const std::string& path)
    : file_(std::make_unique<File>(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)))) {}

DataRanges::~DataRanges() = default;

uint64_t DataRanges::next(uint64_t from) const {
    const off_t at = ::lseek(file_->descriptor.get(), static_cast<off_t>(from), SEEK_DATA);
    if (at >= 0) return static_cast<uint64_t>(at);
    return errno == ENXIO ? std::numeric_limits<uint64_t>::max() : from;
}

}  // namespace os
