#include "base/utf8.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Utf8, TextsAreTaken) {
    for (const std::string_view text : {"", "a\n\x7f", "\u00e4\u20ac\U0001f600\U0010ffff\u0800"}) {
        EXPECT_TRUE(is_utf8(text)) << text;
        EXPECT_EQ(as_utf8(text), text);
    }
    EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, WhatIsNoneIsReplaced) {
    EXPECT_EQ(as_utf8("a\xff"
                      "b\xfe"),
              "a?b?");
    EXPECT_EQ(as_utf8("\xe2\x82"), "??");
    EXPECT_EQ(as_utf8("\xe2\x82x"), "??x");
    EXPECT_EQ(as_utf8("\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe0\x80\x80"), "?? ??? ???? ???");
    EXPECT_FALSE(is_utf8("\xe2\x82"));
    EXPECT_TRUE(is_utf8(as_utf8("\x80\u20ac\xf0\x9f\x98")));
}

}  // namespace
}  // namespace base
