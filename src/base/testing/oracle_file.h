// base/testing/oracle_file.h - reading the recorded cases of tests/oracle, for tests.
#pragma once

#include <functional>
#include <string>

namespace base {

// Calls `each` with every line of a compressed file of tests/oracle. Throws std::runtime_error if
// the file can't be read.
void for_each_oracle_line(const std::string& name,
                          const std::function<void(const std::string&)>& each);

}  // namespace base
