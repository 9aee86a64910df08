// base/escape_control_chars.h - foreign text as part of a line for people: of the log, of a report.
#pragma once

#include <string>
#include <string_view>

namespace base {

// The text as it is, but for what would not stay in its line, what a terminal obeys instead of
// showing it, and what is no UTF-8: that is written out, as in "\n" and "\x1b".
std::string escape_control_chars(std::string_view text);

}  // namespace base
