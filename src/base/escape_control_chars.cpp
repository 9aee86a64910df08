#include "base/escape_control_chars.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace base {

namespace {

// How many bytes the character at the front of the text has; 0: not valid UTF-8, or one that a
// terminal or an editor obeys instead of showing it: the controls of 8 bits, other ends of lines,
// and those that turn the direction of what follows.
size_t shown_bytes(std::string_view text) {
    unsigned point = 0;
    const size_t size = utf8_character(text, &point);
    if (size == 1) return (point < 0x20 && point != '\t') || point == 0x7f ? 0 : 1;
    const bool obeyed = point < 0xa0 || point == 0x61c || (point >= 0x200b && point <= 0x200f) ||
                        (point >= 0x2028 && point <= 0x202e) ||
                        (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
    return obeyed ? 0 : size;
}

}  // namespace

std::string escape_control_chars(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const size_t shown = shown_bytes(text);
        if (shown != 0) {
            out += text.substr(0, shown);
        } else if (text.front() == '\n') {
            out += "\\n";
        } else if (text.front() == '\r') {
            out += "\\r";
        } else {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
        }
        text.remove_prefix(std::max<size_t>(shown, 1));
    }
    return out;
}

}  // namespace base
