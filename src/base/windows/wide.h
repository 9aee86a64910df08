// base/windows/wide.h - text between this program, which has UTF-8, and Windows, which has UTF-16.
#pragma once

#include <string>
#include <string_view>

namespace base {

std::wstring wide(std::string_view utf8);
std::string narrow(std::wstring_view utf16);

}  // namespace base
