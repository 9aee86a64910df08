#include "journal/options/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace journal::options {
namespace {

std::string g_value = "one";

const Registration g_option({
    .name = "unitTestOption",
    .yaml_name = "storage.journal.unitTestOption",
    .type = Type::text,
    .values = "one | two",
    .default_value = "one",
    .help = "Exists in this test only.",
    .runtime = true,
    .set =
        [](std::string_view value) {
            if (value != "one" && value != "two")
                base::fail(base::kBadValue, "unitTestOption must be one or two, not {}", value);
            g_value = value;
        },
    .get = [] { return g_value; },
    .status = {},
});

TEST(Registry, FindsWhatAFileRegistered) {
    const Descriptor* option = find("unitTestOption");
    ASSERT_NE(option, nullptr);
    EXPECT_EQ(option->get(), "one");
    option->set("two");
    EXPECT_EQ(option->get(), "two");
    EXPECT_THROW(option->set("three"), base::Error);
    EXPECT_EQ(option->get(), "two");
    EXPECT_EQ(find("unitTestOptions"), nullptr);
}

TEST(Registry, ListsByName) {
    const auto options = all();
    EXPECT_TRUE(std::is_sorted(options.begin(), options.end(),
                               [](const auto* a, const auto* b) { return a->name < b->name; }));
    EXPECT_NE(std::find(options.begin(), options.end(), find("unitTestOption")), options.end());
}

}  // namespace
}  // namespace journal::options
