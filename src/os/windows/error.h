// os/windows/error.h - why a call to Windows failed.
#pragma once

#include <string>

#include "os/file.h"

namespace os {

// A code of GetLastError with Windows' own text in English where it has one; compares with
// std::errc.
std::error_code windows_error(unsigned long code);

// Throws IoError with the code of GetLastError.
[[noreturn]] void fail_windows(const char* call, const std::string& path);

}  // namespace os
