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

TEST(Utf8, TheFrontEndsBetweenTwoCharacters) {
    EXPECT_EQ(utf8_front("abc", 3), "abc");
    EXPECT_EQ(utf8_front("abc", 2), "ab");
    const std::string_view text = "a\u20ac\u00e4";
    const std::string_view fronts[] = {"", "a", "a", "a", "a\u20ac", "a\u20ac", text};
    for (size_t bytes = 0; bytes < std::size(fronts); ++bytes)
        EXPECT_EQ(utf8_front(text, bytes), fronts[bytes]) << bytes;
    EXPECT_EQ(utf8_front("\x80\x80\x80", 2), "");
}

}  // namespace
}  // namespace base
