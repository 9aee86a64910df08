// storage/mmapv1/mapping/private_views.h - data files mapped for reading only: what a tool sees of
// a dbpath that it must not change. Stores stay in this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "os/file_system.h"
#include "storage/mmapv1/mapping/views.h"

namespace mmapv1 {

class PrivateViews final : public Views {
  public:
    // Bytes of a file that the device does not give.
    using Unreadable = std::function<void(const std::string& path, int64_t offset, int64_t bytes)>;

    // Maps the files. With `unreadable` each is read before it is mapped: unreadable parts are
    // reported to it, and the view has zeros there; without it, reading such a place ends the
    // process by a signal.
    PrivateViews(os::FileSystem& files, std::string dbpath, Unreadable unreadable = {});
    ~PrivateViews() override;

    bool exists(const std::string& relative_path) const override;
    MappedFile& open(const std::string& relative_path) override;
    void close(MappedFile& file) override;
    void declare(void*, size_t) override {}
    // These throw base::Error: nothing is created or removed.
    void remove(const std::string& relative_path) override;
    MappedFile& create(const std::string& relative_path, int64_t length) override;
    void note_created(const MappedFile& file) override;

  private:
    os::FileSystem& files_;
    std::string dbpath_;
    const Unreadable unreadable_;
    std::vector<std::unique_ptr<MappedFile>> open_;
};

}  // namespace mmapv1
