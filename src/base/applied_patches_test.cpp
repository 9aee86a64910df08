#include "base/applied_patches.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace base {
namespace {

// True for every selection; tests/tree/test_build.py checks which slugs a selection gets.
TEST(AppliedPatches, AreDistinctSlugs) {
    std::set<std::string> seen;
    for (const char* slug : applied_patches()) {
        const std::string text = slug;
        EXPECT_FALSE(text.empty());
        EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
                  std::string::npos)
            << text;
        EXPECT_TRUE(seen.insert(text).second) << text << " is listed twice";
    }
}

}  // namespace
}  // namespace base
