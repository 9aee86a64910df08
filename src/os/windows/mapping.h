// os/windows/mapping.h - files mapped by Windows.
#pragma once

#include "os/mapping.h"
#include "os/windows/file.h"

namespace os {

// Private copies count against the system's memory limit for the whole length from the start:
// Windows promises the room for every page that could be stored to.
class WindowsMapping final : public Mapping {
  public:
    // Throws IoError.
    WindowsMapping(const WindowsFile& file, MapKind kind, uint64_t size);
    ~WindowsMapping() override;

    uint8_t* data() const override { return data_; }
    uint64_t size() const override { return size_; }
    void sync(bool wait) override;
    void remap() override;

  private:
    void close();

    const std::string path_;
    const MapKind kind_;
    const uint64_t size_;
    HANDLE file_ = nullptr;  // of its own: it outlives the WindowsFile
    HANDLE section_ = nullptr;
    uint8_t* data_ = nullptr;
};

}  // namespace os
