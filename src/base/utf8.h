// base/utf8.h - which bytes are UTF-8. Clients send what they like, and what is shown to others, or
// named in files, has to be text that theirs can read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace base {

// How many bytes the character at the front of a text has, which is not empty; 0: that is none.
// `point` becomes its number.
size_t utf8_character(std::string_view text, unsigned* point);

bool is_utf8(std::string_view text);

// At most so many bytes of its front, and not cut within a character.
std::string_view utf8_front(std::string_view text, size_t bytes);

// Puts '?' where a byte is no part of a character. Returns whether there was one.
bool make_utf8(std::span<char> text);
std::string as_utf8(std::string_view text);

}  // namespace base
