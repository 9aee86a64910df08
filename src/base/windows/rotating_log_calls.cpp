// An open file can be renamed on Windows only if it was opened with that permission; the C
// library's open does not give it, hence CreateFile.
#include "base/rotating_log_calls.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cerrno>
#include <cstdio>

#include "base/windows/wide.h"

namespace base::rotating_log_calls {

namespace {

void set_errno() {
    switch (::GetLastError()) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
        case ERROR_INVALID_NAME:
            errno = ENOENT;
            break;
        case ERROR_DISK_FULL:
            errno = ENOSPC;
            break;
        default:
            errno = EACCES;
    }
}

}  // namespace

bool exists(const std::string& path) {
    return ::GetFileAttributesW(wide(path).c_str()) != INVALID_FILE_ATTRIBUTES;
}

// A device ("NUL") is written to, never renamed.
bool is_regular_with_content(const std::string& path) {
    const HANDLE handle = ::CreateFileW(wide(path).c_str(), FILE_READ_ATTRIBUTES,
                                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                        nullptr, OPEN_EXISTING, 0, nullptr);
    if (handle == INVALID_HANDLE_VALUE) return false;
    LARGE_INTEGER size{};
    const bool result = ::GetFileType(handle) == FILE_TYPE_DISK && ::GetFileSizeEx(handle, &size) &&
                        size.QuadPart != 0;
    ::CloseHandle(handle);
    return result;
}

int open(const std::string& path) {
    const HANDLE handle = ::CreateFileW(wide(path).c_str(), FILE_APPEND_DATA | SYNCHRONIZE,
                                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                        nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (handle == INVALID_HANDLE_VALUE) {
        set_errno();
        return -1;
    }
    return ::_open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_APPEND | _O_BINARY);
}

bool is_being_written(const std::string&) {
    return false;
}

void close(int descriptor) {
    ::_close(descriptor);
}

void write_line(int descriptor, std::string_view line) {
    const std::string whole = std::string(line) + "\n";
    ::_write(descriptor, whole.data(), static_cast<unsigned>(whole.size()));
}

bool rename(const std::string& from, const std::string& to) {
    if (::MoveFileExW(wide(from).c_str(), wide(to).c_str(), 0)) return true;
    set_errno();
    return false;
}

void redirect_output(int descriptor) {
    ::_dup2(descriptor, ::_fileno(stdout));
    ::_dup2(descriptor, ::_fileno(stderr));
}

}  // namespace base::rotating_log_calls
