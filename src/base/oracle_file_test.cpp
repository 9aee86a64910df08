#include "base/testing/oracle_file.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace base {

TEST(OracleFile, MissingFileIsAnError) {
    EXPECT_THROW(for_each_oracle_line("no-such-file", [](const std::string&) {}),
                 std::runtime_error);
}

}  // namespace base
