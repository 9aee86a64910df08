// os/file.h - one open file, and how input or output fails.
//
// The room os/ is the one seam to the operating system: files, directories, mappings, clock. Code
// above it names no platform header, so it runs unchanged on the simulated disk of os/sim_*.h,
// which loses or tears what was not synced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "base/error.h"

namespace os {

// A failed call to the operating system: what was tried on which path, and the system's reason.
class IoError : public base::Error {
  public:
    IoError(const std::string& what, std::error_code reason);
    std::error_code reason() const { return reason_; }
    bool not_found() const { return reason_ == std::errc::no_such_file_or_directory; }

  private:
    std::error_code reason_;
};

enum class Access { read, write, read_write };

struct OpenOptions {
    Access access = Access::read;
    bool create = false;    // if it does not exist
    bool truncate = false;  // to length 0
    bool fresh = false;     // with create: fails if anything of that name exists
    bool direct = false;    // past the page cache, where the file system can; else buffered
    // Windows' FILE_FLAG_WRITE_THROUGH: a write returns when its bytes and what Windows notes about
    // them are on the device, and sync_data() has nothing left to do. Nothing elsewhere: see
    // FileSystem::has_write_through().
    bool write_through = false;
    bool no_atime = false;  // a hint
    // Fails (too_many_files_open) where it takes one of the last (base/spare_descriptors.h).
    bool leaves_spare = false;
    unsigned mode = 0600;  // permissions of a new file, before the umask
};

// Offsets and lengths are in bytes. A file is not synchronised: one thread at a time uses the
// position. Every call throws IoError on failure.
class File {
  public:
    File() = default;
    virtual ~File() = default;  // closes
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    virtual const std::string& path() const = 0;
    // Whether writes go past the page cache: buffers, offsets and lengths must then be multiples of
    // the block size (4096 serves every device the journal supports).
    virtual bool is_direct() const = 0;
    virtual uint64_t length() const = 0;

    // Returns the bytes read: fewer than asked only at the end of the file.
    virtual size_t read_at(uint64_t offset, std::span<uint8_t> to) = 0;
    virtual void write_at(uint64_t offset, std::span<const uint8_t> bytes) = 0;

    // The position of sequential writes, 0 after open.
    virtual uint64_t position() = 0;
    virtual void seek(uint64_t offset) = 0;
    // Writes at the position and moves it. Returns how much was written: less than asked is not an
    // error, the caller goes on with the rest.
    virtual size_t write_some(std::span<const uint8_t> bytes) = 0;
    void write(std::span<const uint8_t> bytes) {
        while (!bytes.empty())
            bytes = bytes.subspan(write_some(bytes));
    }

    virtual void sync() = 0;  // data and all metadata
    // Data and what is needed to read it back (length). Nothing to do where each write does that.
    virtual void sync_data() = 0;
    virtual void truncate(uint64_t length) = 0;
    // Makes the file at least that long, zero-filled, with its space allocated.
    virtual void allocate(uint64_t length) = 0;
    // Hint: the range will not be read soon.
    virtual void drop_cache(uint64_t offset, uint64_t bytes) = 0;
    // Takes the exclusive lock on the whole file without waiting; false: another process has it. It
    // ends with the close.
    virtual bool try_lock() = 0;
};

}  // namespace os
