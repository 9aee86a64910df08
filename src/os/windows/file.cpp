#include "os/windows/file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "base/windows/wide.h"
#include "os/windows/error.h"

namespace os {

namespace {

// Journal spec 3.2.
constexpr size_t kLargestWrite = size_t{8} << 20;
constexpr size_t kLargestRead = size_t{8} << 20;
// Locks keep others from reading on Windows, so the byte that is locked lies where no file ends.
constexpr uint64_t kLockedByte = uint64_t{1} << 62;
// Windows takes a longer path only in its longer form.
constexpr size_t kShortPath = 240;

// The least that any device has.
constexpr uint64_t kSector = 512;
// Serves every device the journal supports.
constexpr DWORD kBlock = 4096;

struct FreeBlock {
    void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{kBlock}); }
};

DWORD low(uint64_t value) {
    return static_cast<DWORD>(value);
}
DWORD high(uint64_t value) {
    return static_cast<DWORD>(value >> 32);
}

OVERLAPPED at(uint64_t offset) {
    OVERLAPPED place{};
    place.Offset = low(offset);
    place.OffsetHigh = high(offset);
    return place;
}

DWORD access_of(Access access) {
    switch (access) {
        case Access::read:
            return GENERIC_READ;
        case Access::write:
            return GENERIC_WRITE;
        case Access::read_write:
            break;
    }
    return GENERIC_READ | GENERIC_WRITE;
}

DWORD creation_of(const OpenOptions& options) {
    if (options.create && options.fresh) return CREATE_NEW;
    if (options.create) return options.truncate ? CREATE_ALWAYS : OPEN_ALWAYS;
    return options.truncate ? TRUNCATE_EXISTING : OPEN_EXISTING;
}

// Journal spec 3.1: the journal's files are shared for reading only. Others may be open twice in
// one process, and renamed or removed while they are open, as elsewhere.
DWORD sharing_of(const OpenOptions& options) {
    return options.direct ? FILE_SHARE_READ
                          : FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
}

DWORD flags_of(const OpenOptions& options) {
    return (options.direct ? FILE_FLAG_NO_BUFFERING : 0) |
           (options.write_through ? FILE_FLAG_WRITE_THROUGH : 0);
}

}  // namespace

std::wstring windows_path(const std::string& path) {
    std::wstring wide = base::wide(path);
    if (wide.size() < kShortPath || wide.starts_with(L"\\\\")) return wide;
    const DWORD room = ::GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr);
    std::wstring full(room, L'\0');
    full.resize(::GetFullPathNameW(wide.c_str(), room, full.data(), nullptr));
    return full.empty() ? wide : L"\\\\?\\" + full;
}

WindowsFile::WindowsFile(const std::string& path, const OpenOptions& options)
    : path_(path), options_(options) {
    handle_ =
        ::CreateFileW(windows_path(path).c_str(), access_of(options.access), sharing_of(options),
                      nullptr, creation_of(options), flags_of(options), nullptr);
    if (handle_ == INVALID_HANDLE_VALUE) fail_windows("open", path_);
}

WindowsFile::~WindowsFile() {
    ::CloseHandle(handle_);
}

uint64_t WindowsFile::length() const {
    LARGE_INTEGER size{};
    if (!::GetFileSizeEx(handle_, &size)) fail_windows("length", path_);
    return static_cast<uint64_t>(size.QuadPart);
}

size_t WindowsFile::read_at(uint64_t offset, std::span<uint8_t> to) {
    size_t done = 0;
    while (done < to.size()) {
        OVERLAPPED place = at(offset + done);
        DWORD n = 0;
        const auto wanted = static_cast<DWORD>(std::min(to.size() - done, kLargestRead));
        if (!::ReadFile(handle_, to.data() + done, wanted, &n, &place)) {
            if (::GetLastError() == ERROR_HANDLE_EOF) break;
            fail_windows("read", path_);
        }
        if (n == 0) break;
        done += n;
    }
    return done;
}

size_t WindowsFile::write_piece(uint64_t offset, std::span<const uint8_t> bytes) {
    OVERLAPPED place = at(offset);
    DWORD n = 0;
    const auto wanted = static_cast<DWORD>(std::min(bytes.size(), kLargestWrite));
    // Windows refuses it, Wine does not.
    if (options_.direct &&
        (reinterpret_cast<uintptr_t>(bytes.data()) | offset | wanted) % kSector != 0) {
        ::SetLastError(ERROR_INVALID_PARAMETER);
        fail_windows("unaligned unbuffered write", path_);
    }
    if (!::WriteFile(handle_, bytes.data(), wanted, &n, &place)) fail_windows("write", path_);
    rule_.note_write(offset + n);
    return n;
}

void WindowsFile::write_at(uint64_t offset, std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const size_t n = write_piece(offset, bytes);
        offset += n;
        bytes = bytes.subspan(n);
    }
}

size_t WindowsFile::write_some(std::span<const uint8_t> bytes) {
    const size_t n = write_piece(position_, bytes);
    position_ += n;
    return n;
}

void WindowsFile::sync() {
    if (!::FlushFileBuffers(handle_)) fail_windows("flush", path_);
}

void WindowsFile::sync_data() {
    if (options_.write_through) return;
    if (options_.direct) {
        if (!rule_.flush_is_due()) return;
        write_end_back();
    }
    sync();
    rule_.note_flush(length());
}

// A file can be longer than the bytes that were ever written to it. A write behind that point reads
// as zeros until Windows has noted a new point, which it does when it likes. Writing the last block
// as it is moves the point to the end, once.
void WindowsFile::write_end_back() {
    const uint64_t whole = length();
    if (whole <= rule_.written_to()) return;
    const uint64_t last = (whole - 1) / kBlock * kBlock;
    if (last < rule_.written_to()) return;
    const std::unique_ptr<uint8_t[], FreeBlock> block(
        static_cast<uint8_t*>(::operator new (kBlock, std::align_val_t{kBlock})));
    std::memset(block.get(), 0, kBlock);
    // This file may be open for writing only.
    WindowsFile(path_, {.access = Access::read}).read_at(last, {block.get(), kBlock});
    OVERLAPPED place = at(last);
    DWORD n = 0;
    if (!::WriteFile(handle_, block.get(), kBlock, &n, &place)) fail_windows("write", path_);
}

void WindowsFile::truncate(uint64_t length) {
    FILE_END_OF_FILE_INFO info{};
    info.EndOfFile.QuadPart = static_cast<LONGLONG>(length);
    rule_.note_length(std::min(length, this->length()));
    if (!::SetFileInformationByHandle(handle_, FileEndOfFileInfo, &info, sizeof info))
        fail_windows("truncate", path_);
}

// Longer files get their space at once, unless they are sparse, which no file is that is made here.
void WindowsFile::allocate(uint64_t length) {
    if (this->length() < length) truncate(length);
}

bool WindowsFile::try_lock() {
    OVERLAPPED place = at(kLockedByte);
    constexpr DWORD kFlags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    if (::LockFileEx(handle_, kFlags, 0, 1, 0, &place)) return true;
    const DWORD code = ::GetLastError();
    if (code == ERROR_LOCK_VIOLATION || code == ERROR_IO_PENDING) return false;
    fail_windows("lock", path_);
}

}  // namespace os
