// base/rotating_log_calls.h - what base::RotatingLog asks of the operating system, one body per
// system.
#pragma once

#include <string>
#include <string_view>

namespace base::rotating_log_calls {

bool exists(const std::string& path);  // also a link that leads nowhere
bool is_regular_with_content(const std::string& path);

// A descriptor of the file, made if need be, whose writes go to its end; other processes may rename
// the file while it is open. No link to another file is followed. -1 with a reason in errno.
int open(const std::string& path);
// Whether a process has such a descriptor of it, as far as the system tells.
bool is_being_written(const std::string& path);
void close(int descriptor);
// The line and a newline, in one call so that they stay together.
void write_line(int descriptor, std::string_view line);
// False with a reason in errno.
bool rename(const std::string& from, const std::string& to);
// Standard output and standard error become this file.
void redirect_output(int descriptor);

}  // namespace base::rotating_log_calls
