// query/value/characters.h - the characters of a text, counted as code points.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/dcheck.h"
#include "base/utf8.h"
#include "sched/tick.h"

namespace query {

// Bytes of the first character; a byte that is no part of one counts as one. REQUIRES: text is not
// empty.
inline size_t character_bytes(std::string_view text) {
    DCHECK(!text.empty());
    unsigned point = 0;
    return std::max<size_t>(1, base::utf8_character(text, &point));
}

inline int64_t count_characters(std::string_view text) {
    sched::tick_bytes(text.size(), sched::PerTick::converted);
    int64_t n = 0;
    for (; !text.empty(); ++n)
        text.remove_prefix(character_bytes(text));
    return n;
}

// Returns where the character of that number begins; the end of the text if there is none.
inline size_t byte_of_character(std::string_view text, int64_t number) {
    DCHECK(number >= 0);
    sched::tick_bytes(text.size(), sched::PerTick::converted);
    size_t at = 0;
    for (; number > 0 && at < text.size(); --number)
        at += character_bytes(text.substr(at));
    return at;
}

}  // namespace query
