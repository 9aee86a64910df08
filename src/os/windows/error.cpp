#include "os/windows/error.h"

#include <windows.h>

#include "base/windows/wide.h"

namespace os {

namespace {

class WindowsCategory final : public std::error_category {
  public:
    const char* name() const noexcept override { return "windows"; }

    std::string message(int code) const override {
        constexpr DWORD kEnglish = MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US);
        constexpr DWORD kFlags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                                 FORMAT_MESSAGE_MAX_WIDTH_MASK;  // no line ends
        wchar_t text[512];
        for (const DWORD language : {kEnglish, DWORD{0}}) {
            const DWORD length = ::FormatMessageW(kFlags, nullptr, static_cast<DWORD>(code),
                                                  language, text, std::size(text), nullptr);
            if (length == 0) continue;
            std::string message = base::narrow({text, length});
            while (!message.empty() && (message.back() == ' ' || message.back() == '.'))
                message.pop_back();
            return fmt::format("{} (error {})", message, code);
        }
        return fmt::format("error {}", code);
    }

    std::error_condition default_error_condition(int code) const noexcept override {
        switch (code) {
            case ERROR_FILE_NOT_FOUND:
            case ERROR_PATH_NOT_FOUND:
            case ERROR_INVALID_NAME:
            case ERROR_INVALID_DRIVE:
            case ERROR_BAD_NETPATH:
                return std::errc::no_such_file_or_directory;
            case ERROR_ACCESS_DENIED:
            case ERROR_SHARING_VIOLATION:
            case ERROR_LOCK_VIOLATION:
            case ERROR_WRITE_PROTECT:
                return std::errc::permission_denied;
            case ERROR_FILE_EXISTS:
            case ERROR_ALREADY_EXISTS:
                return std::errc::file_exists;
            case ERROR_DIR_NOT_EMPTY:
                return std::errc::directory_not_empty;
            case ERROR_DIRECTORY:
                return std::errc::not_a_directory;
            case ERROR_DISK_FULL:
            case ERROR_HANDLE_DISK_FULL:
                return std::errc::no_space_on_device;
            case ERROR_TOO_MANY_OPEN_FILES:
                return std::errc::too_many_files_open;
            case ERROR_NOT_ENOUGH_MEMORY:
            case ERROR_OUTOFMEMORY:
            case ERROR_COMMITMENT_LIMIT:
                return std::errc::not_enough_memory;
            case ERROR_INVALID_PARAMETER:
                return std::errc::invalid_argument;
            case ERROR_CRC:
            case ERROR_IO_DEVICE:
                return std::errc::io_error;
            default:
                return {code, *this};
        }
    }
};

}  // namespace

std::error_code windows_error(unsigned long code) {
    static const WindowsCategory category;
    return {static_cast<int>(code), category};
}

void fail_windows(const char* call, const std::string& path) {
    const DWORD code = ::GetLastError();
    throw IoError(fmt::format("{} of {} failed", call, path), windows_error(code));
}

}  // namespace os
