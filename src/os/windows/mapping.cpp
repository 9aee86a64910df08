#include "os/windows/mapping.h"

#include <atomic>

#include "os/windows/error.h"

namespace os {

namespace {

// Views lie at rising addresses of a range that nothing else asks for, so that the place of a view
// that is unmapped for a moment stays free (journal spec 1.1).
constexpr uint64_t kFirstAddress = uint64_t{256} << 30;
constexpr uint64_t kLastAddress = uint64_t{96} << 40;
constexpr uint64_t kGranularity = uint64_t{64} << 10;

std::atomic<uint64_t> g_next_address{kFirstAddress};

void* next_address(uint64_t size) {
    const uint64_t whole = (size + kGranularity - 1) / kGranularity * kGranularity;
    // One step of distance: a store behind the end of one view is not one into the next.
    return reinterpret_cast<void*>(g_next_address.fetch_add(whole + kGranularity));
}

DWORD access_of(MapKind kind) {
    return kind == MapKind::shared ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_COPY;
}

// Maps a view at a free address of the range.
uint8_t* map_view(HANDLE section, MapKind kind, uint64_t size) {
    for (;;) {
        void* const wish = next_address(size);
        if (reinterpret_cast<uint64_t>(wish) >= kLastAddress) {
            ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
            return nullptr;
        }
        void* const view = ::MapViewOfFileEx(section, access_of(kind), 0, 0, size, wish);
        if (view != nullptr) return static_cast<uint8_t*>(view);
        if (::GetLastError() != ERROR_INVALID_ADDRESS) return nullptr;
    }
}

}  // namespace

WindowsMapping::WindowsMapping(const WindowsFile& file, MapKind kind, uint64_t size)
    : path_(file.path()), kind_(kind), size_(size) {
    const HANDLE process = ::GetCurrentProcess();
    if (!::DuplicateHandle(process, file.handle(), process, &file_, 0, FALSE,
                           DUPLICATE_SAME_ACCESS))
        fail_windows("duplicating the handle", path_);
    section_ = ::CreateFileMappingW(file_, nullptr, PAGE_READWRITE, 0, 0, nullptr);
    if (section_ != nullptr) data_ = map_view(section_, kind_, size_);
    if (data_ != nullptr) return;
    const DWORD reason = ::GetLastError();
    close();
    ::SetLastError(reason);
    fail_windows("mapping", path_);
}

WindowsMapping::~WindowsMapping() {
    ::UnmapViewOfFile(data_);
    close();
}

void WindowsMapping::close() {
    if (section_ != nullptr) ::CloseHandle(section_);
    ::CloseHandle(file_);
}

void WindowsMapping::sync(bool wait) {
    if (!::FlushViewOfFile(data_, size_)) fail_windows("flushing the view", path_);
    if (wait && !::FlushFileBuffers(file_)) fail_windows("flush", path_);
}

void WindowsMapping::remap() {
    if (!::UnmapViewOfFile(data_)) fail_windows("unmapping", path_);
    if (::MapViewOfFileEx(section_, access_of(kind_), 0, 0, size_, data_) != data_)
        fail_windows("remap", path_);
}

}  // namespace os
