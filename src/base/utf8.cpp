#include "base/utf8.h"

#include <algorithm>

namespace base {

size_t utf8_character(std::string_view text, unsigned* point) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    *point = lead;
    if (lead < 0x80) return 1;
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
    *point = lead & (0x7f >> size);
    for (size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        *point = *point << 6 | (byte(i) & 0x3f);
    }
    const bool overlong = (size == 3 && *point < 0x800) || (size == 4 && *point < 0x10000);
    const bool nothing = (*point >= 0xd800 && *point <= 0xdfff) || *point > 0x10ffff;
    return overlong || nothing ? 0 : size;
}

bool is_utf8(std::string_view text) {
    unsigned point = 0;
    while (!text.empty()) {
        const size_t size = utf8_character(text, &point);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

std::string_view utf8_front(std::string_view text, size_t bytes) {
    if (text.size() <= bytes) return text;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80)
        --bytes;
    return text.substr(0, bytes);
}

bool make_utf8(std::span<char> text) {
    bool any = false;
    unsigned point = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t size = utf8_character({text.data() + at, text.size() - at}, &point);
        if (size == 0) {
            text[at] = '?';
            any = true;
        }
        at += std::max<size_t>(size, 1);
    }
    return any;
}

std::string as_utf8(std::string_view text) {
    std::string out(text);
    make_utf8(out);
    return out;
}

}  // namespace base
