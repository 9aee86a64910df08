// Finds the text with which all matches of an expression begin, for the bounds of an index.
#include <algorithm>
#include <cctype>

#include "query/match/regex.h"

namespace query {

namespace {

bool is_quantifier(char c) {
    return c == '*' || c == '+' || c == '?' || c == '{';
}

bool is_meta(char c) {
    return std::string_view("^$.[]|()+*?{}").find(c) != std::string_view::npos;
}

// Cuts the last character, all bytes of it.
void drop_last_character(std::string& utf8) {
    while (!utf8.empty() && (static_cast<uint8_t>(utf8.back()) & 0xC0) == 0x80)
        utf8.pop_back();
    if (!utf8.empty()) utf8.pop_back();
}

// Whether the pattern has alternatives anywhere; then nothing is common to all matches.
bool has_alternative(std::string_view pattern) {
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '|') return true;
        if (pattern[i] != '\\') continue;
        if (pattern.substr(i, 2) == "\\Q") i = std::min(pattern.size(), pattern.find("\\E", i));
        ++i;
    }
    return false;
}

// Whether the library reads past this, other than white space: comments, an \E that ends nothing,
// and with the flag x maybe a character beyond ASCII.
bool is_skipped(std::string_view pattern, bool extended) {
    return pattern.starts_with("(?#") || pattern.starts_with("\\E") ||
           (extended && (pattern[0] == '#' || static_cast<uint8_t>(pattern[0]) >= 0x80));
}

}  // namespace

std::string Regex::prefix(bool* exact) const {
    *exact = false;
    std::string text;
    std::string_view rest = pattern_;
    const bool multiline = flags_.find('m') != std::string::npos;
    const bool extended = flags_.find('x') != std::string::npos;
    // With other flags than these the old server looked for no prefix.
    if (flags_.find_first_not_of("mx") != std::string::npos || has_alternative(rest)) return text;
    if (rest.starts_with('^') && !multiline)
        rest.remove_prefix(1);
    else if (rest.starts_with("\\A"))
        rest.remove_prefix(2);
    else
        return text;
    while (!rest.empty()) {
        if (rest.starts_with("\\Q")) {
            const size_t end = rest.find("\\E");
            text += rest.substr(2, end == std::string_view::npos ? end : end - 2);
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
            continue;
        }
        if (is_skipped(rest, extended)) {
            // A quantifier behind it belongs to the character before it.
            drop_last_character(text);
            return text;
        }
        if (extended && std::isspace(static_cast<uint8_t>(rest[0])) != 0) {
            rest.remove_prefix(1);
            continue;
        }
        if (is_quantifier(rest[0])) {
            drop_last_character(text);
            return text;
        }
        if (rest[0] == '\\') {
            // An escaped letter or digit means a class or a reference, anything else itself.
            if (rest.size() < 2 || std::isalnum(static_cast<uint8_t>(rest[1]))) return text;
            rest.remove_prefix(1);
        } else if (is_meta(rest[0])) {
            return text;
        }
        text += rest[0];
        rest.remove_prefix(1);
    }
    *exact = true;
    return text;
}

}  // namespace query
