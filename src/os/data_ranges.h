// os/data_ranges.h - where a file has data. Between lie zeros: holes, and space that was allocated
// and never written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace os {

class DataRanges {
  public:
    // A file that the system does not know has data everywhere, as far as is known.
    explicit DataRanges(const std::string& path);
    ~DataRanges();
    DataRanges(const DataRanges&) = delete;
    DataRanges& operator=(const DataRanges&) = delete;

    // Returns the first place from `from` on where there may be data; the largest number: none.
    uint64_t next(uint64_t from) const;

  private:
    struct File;
    const std::unique_ptr<File> file_;
};

}  // namespace os
