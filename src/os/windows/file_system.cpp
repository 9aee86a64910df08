// The file system of Windows.

#include "os/file_system.h"

#include <algorithm>

#include "base/windows/wide.h"
#include "os/windows/error.h"
#include "os/windows/file.h"
#include "os/windows/mapping.h"

namespace os {

namespace {

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// A handle on whatever has that name, closed at the end; INVALID_HANDLE_VALUE if that fails.
class Named {
  public:
    Named(const std::string& path, DWORD access)
        : handle_(::CreateFileW(windows_path(path).c_str(), access, kShareAll, nullptr,
                                OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr)) {}
    ~Named() {
        if (*this) ::CloseHandle(handle_);
    }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;

    explicit operator bool() const { return handle_ != INVALID_HANDLE_VALUE; }
    HANDLE handle() const { return handle_; }

  private:
    const HANDLE handle_;
};

// File systems that cannot flush a directory say one of these.
bool is_not_possible(DWORD code) {
    return code == ERROR_INVALID_FUNCTION || code == ERROR_NOT_SUPPORTED ||
           code == ERROR_INVALID_PARAMETER || code == ERROR_ACCESS_DENIED;
}

// INVALID_FILE_ATTRIBUTES where nothing has that name. Throws where that is unknown.
DWORD attributes_of(const std::string& path) {
    const DWORD attributes = ::GetFileAttributesW(windows_path(path).c_str());
    if (attributes != INVALID_FILE_ATTRIBUTES) return attributes;
    switch (::GetLastError()) {
        case ERROR_TOO_MANY_OPEN_FILES:
        case ERROR_NOT_ENOUGH_MEMORY:
        case ERROR_OUTOFMEMORY:
        case ERROR_IO_DEVICE:
        case ERROR_CRC:
            fail_windows("stat", path);
        default:
            return INVALID_FILE_ATTRIBUTES;
    }
}
bool has_attribute(const std::string& path, DWORD attribute) {
    const DWORD attributes = attributes_of(path);
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & attribute) != 0;
}

class WindowsFileSystem final : public FileSystem {
  public:
    std::unique_ptr<File> open(const std::string& path, const OpenOptions& options) override {
        return std::make_unique<WindowsFile>(path, options);
    }
    std::unique_ptr<Mapping> map(File& file, MapKind kind, uint64_t length) override {
        return std::make_unique<WindowsMapping>(dynamic_cast<WindowsFile&>(file), kind, length);
    }
    bool has_write_through() const override { return true; }

    bool exists(const std::string& path) override {
        return attributes_of(path) != INVALID_FILE_ATTRIBUTES;
    }
    bool is_directory(const std::string& path) override {
        return has_attribute(path, FILE_ATTRIBUTE_DIRECTORY);
    }
    bool is_link(const std::string& path) override {
        return has_attribute(path, FILE_ATTRIBUTE_REPARSE_POINT);
    }
    uint64_t file_length(const std::string& path) override {
        WIN32_FILE_ATTRIBUTE_DATA data{};
        if (!::GetFileAttributesExW(windows_path(path).c_str(), GetFileExInfoStandard, &data))
            fail_windows("length", path);
        return uint64_t{data.nFileSizeHigh} << 32 | data.nFileSizeLow;
    }

    std::vector<std::string> list(const std::string& directory) override {
        WIN32_FIND_DATAW entry{};
        const HANDLE search = ::FindFirstFileW(windows_path(join(directory, "*")).c_str(), &entry);
        if (search == INVALID_HANDLE_VALUE) fail_windows("listing", directory);
        std::vector<std::string> names;
        do {
            std::string name = base::narrow(entry.cFileName);
            if (name != "." && name != "..") names.push_back(std::move(name));
        } while (::FindNextFileW(search, &entry));
        const DWORD code = ::GetLastError();
        ::FindClose(search);
        if (code != ERROR_NO_MORE_FILES) {
            ::SetLastError(code);
            fail_windows("listing", directory);
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    void create_directory(const std::string& path) override {
        if (::CreateDirectoryW(windows_path(path).c_str(), nullptr)) return;
        const DWORD code = ::GetLastError();
        if (code == ERROR_ALREADY_EXISTS && is_directory(path)) return;
        ::SetLastError(code);
        fail_windows("creating the directory", path);
    }
    void remove(const std::string& path) override {
        const std::wstring wide = windows_path(path);
        if (is_directory(path) ? ::RemoveDirectoryW(wide.c_str()) : ::DeleteFileW(wide.c_str()))
            return;
        fail_windows("remove", path);
    }
    // Renames with write-through, since what a directory says of a file is not flushed by itself.
    void rename(const std::string& from, const std::string& to) override {
        if (!::MoveFileExW(windows_path(from).c_str(), windows_path(to).c_str(),
                           MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
            fail_windows("rename", from);
    }

    void sync_directory(const std::string& path) override {
        const Named directory(path, GENERIC_WRITE);
        if (directory ? ::FlushFileBuffers(directory.handle()) != 0 : false) return;
        if (!is_not_possible(::GetLastError())) fail_windows("flush", path);
    }

    uint64_t free_bytes(const std::string& path) override {
        ULARGE_INTEGER available{};
        if (!::GetDiskFreeSpaceExW(windows_path(path).c_str(), &available, nullptr, nullptr))
            fail_windows("free space", path);
        return available.QuadPart;
    }
    std::optional<uint64_t> device_of(const std::string& path) override {
        const Named named(path, 0);
        BY_HANDLE_FILE_INFORMATION info{};
        if (!named || !::GetFileInformationByHandle(named.handle(), &info)) return std::nullopt;
        return info.dwVolumeSerialNumber;
    }
};

}  // namespace

FileSystem& real_file_system() {
    static WindowsFileSystem instance;
    return instance;
}

}  // namespace os
