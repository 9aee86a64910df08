#include "query/match/regex_syntax.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/utf8.h"

namespace query {

namespace {

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool one_of(char c, std::string_view set) {
    return set.find(c) != std::string_view::npos;
}

// Letters that mean something behind a backslash, or that both libraries refuse there.
constexpr std::string_view kEscapes = "aABbCcDdEefGgHhKkLlNnoPpQRrSstUuVvWwXxZz";
// The escapes that stand for themselves inside a class.
constexpr std::string_view kLiteralInClass = "ABCGKRXZzk";
// The escapes that stand for a set of characters.
constexpr std::string_view kSets = "dDsSwWhHvVpP";

class Rewriter {
  public:
    Rewriter(std::string_view pattern, bool extended) : rest_(pattern), extended_(extended) {
        groups_ = count_groups(pattern);
    }

    std::string run() {
        while (!rest_.empty()) {
            if (copy_quoted() || copy_comment()) continue;
            if (rest_[0] == '[') {
                rewrite_class();
            } else if (rest_[0] == '\\' && rest_.size() > 1) {
                rewrite_escape();
            } else {
                if (!rewrite_options()) take(1);
            }
        }
        return std::move(out_);
    }

  private:
    void take(size_t n) {
        n = std::min(n, rest_.size());
        out_ += rest_.substr(0, n);
        rest_.remove_prefix(n);
    }
    void take_through(std::string_view end, size_t from) {
        const size_t at = rest_.find(end, from);
        take(at == std::string_view::npos ? rest_.size() : at + end.size());
    }

    // \Q...\E
    bool copy_quoted() {
        if (!rest_.starts_with("\\Q")) return false;
        take_through("\\E", 2);
        return true;
    }

    bool copy_comment() {
        if (rest_.starts_with("(?#")) {
            take_through(")", 3);
            return true;
        }
        if (!extended_ || rest_[0] != '#') return false;
        take_through("\n", 1);
        return true;
    }

    // (?x) and (?x: and the like, where one hyphen is enough.
    bool rewrite_options() {
        if (!rest_.starts_with("(?")) return false;
        size_t end = 2;
        while (end < rest_.size() && (is_letter(rest_[end]) || rest_[end] == '-'))
            ++end;
        if (end == rest_.size() || (rest_[end] != ')' && rest_[end] != ':')) return false;
        const std::string_view options = rest_.substr(2, end - 2);
        const size_t hyphen = std::min(options.find('-'), options.size());
        if (options.substr(0, hyphen).find('x') != std::string_view::npos) extended_ = true;
        out_ += "(?";
        for (size_t i = 0; i < options.size(); ++i) {
            if (options[i] != '-' || i == hyphen) out_ += options[i];
        }
        rest_.remove_prefix(end);
        return true;
    }

    static int count_groups(std::string_view pattern) {
        int groups = 0;
        for (size_t i = 0; i < pattern.size(); ++i) {
            if (pattern[i] == '\\') {
                ++i;
            } else if (pattern[i] == '(' && (i + 1 == pattern.size() || pattern[i + 1] != '?')) {
                ++groups;
            }
        }
        return groups;
    }

    // \x{ without digits or without its end is \x, which without digits is NUL.
    bool rewrite_code_point() {
        if (!rest_.starts_with("\\x{")) return false;
        size_t end = 3;
        while (end < rest_.size() && std::isxdigit(static_cast<unsigned char>(rest_[end])) != 0)
            ++end;
        const bool closed = end < rest_.size() && rest_[end] == '}';
        if (closed && end > 3) {
            take(end + 1);
            return true;
        }
        out_ += "\\x00";
        rest_.remove_prefix(closed ? 4 : 2);
        return true;
    }

    // \81 is a reference where there are so many groups; else digits.
    bool rewrite_reference() {
        if (rest_[1] != '8' && rest_[1] != '9') return false;
        size_t end = 1;
        while (end < rest_.size() && is_digit(rest_[end]))
            ++end;
        int number = 0;
        const auto [ptr, error] = std::from_chars(rest_.data() + 1, rest_.data() + end, number);
        if (error == std::errc() && number <= groups_) {
            take(end);
        } else {
            rest_.remove_prefix(1);
            take(1);
        }
        return true;
    }

    void rewrite_escape() {
        if (rewrite_code_point() || rewrite_reference()) return;
        if (is_letter(rest_[1]) && !one_of(rest_[1], kEscapes)) {
            rest_.remove_prefix(1);
            take(1);
        } else {
            take(2);
        }
    }

    // [:alpha:] at the front, inside a class. Its length; 0: none.
    size_t posix_class() const {
        if (!rest_.starts_with("[:")) return 0;
        size_t end = 2;
        if (end < rest_.size() && rest_[end] == '^') ++end;
        while (end < rest_.size() && is_letter(rest_[end]))
            ++end;
        return rest_.substr(end).starts_with(":]") ? end + 2 : 0;
    }

    bool set_follows() const {
        return posix_class() > 0 ||
               (rest_.size() > 1 && rest_[0] == '\\' && one_of(rest_[1], kSets));
    }

    // An item of a class that stands for several characters.
    bool take_set() {
        if (const size_t length = posix_class(); length > 0) {
            take(length);
            return true;
        }
        if (!set_follows()) return false;
        const bool property = rest_[1] == 'p' || rest_[1] == 'P';
        take(2);
        if (!property || rest_.empty()) return true;
        if (rest_[0] == '{') {
            take_through("}", 0);
        } else {
            take(1);
        }
        return true;
    }

    void take_character() {
        if (rest_[0] != '\\' || rest_.size() < 2) {
            take(1);
            return;
        }
        if (rewrite_code_point()) return;
        const char c = rest_[1];
        const bool no_octal = c == '8' || c == '9';
        if (no_octal || (is_letter(c) && (one_of(c, kLiteralInClass) || !one_of(c, kEscapes)))) {
            rest_.remove_prefix(1);
            take(1);
        } else {
            take(2);
        }
    }

    // A hyphen between a set and anything else is a hyphen.
    void rewrite_class() {
        take(1);
        if (rest_.starts_with('^')) take(1);
        if (rest_.starts_with(']')) take(1);
        bool after_set = false;
        bool in_range = false;  // the next character ends a range
        bool at_start = true;
        while (!rest_.empty() && rest_[0] != ']') {
            if (copy_quoted()) {
                after_set = in_range = at_start = false;
                continue;
            }
            if (rest_.starts_with("\\E")) {
                take(2);
                continue;
            }
            if (rest_[0] == '-') {
                rewrite_hyphen(after_set, in_range, at_start);
                continue;
            }
            at_start = false;
            if (take_set()) {
                after_set = true;
                in_range = false;
                continue;
            }
            take_character();
            // The end of a range can't begin another one.
            after_set = false;
            in_range = false;
        }
        if (!rest_.empty()) take(1);
    }

    void rewrite_hyphen(bool& after_set, bool& in_range, bool& at_start) {
        const std::string_view hyphen = rest_.substr(0, 1);
        rest_.remove_prefix(1);
        const bool literal = after_set || (!at_start && !in_range && set_follows());
        if (literal && !rest_.starts_with(']')) out_ += '\\';
        out_ += hyphen;
        in_range = !literal && !at_start && !in_range;
        after_set = at_start = false;
    }

    std::string_view rest_;
    bool extended_;
    int groups_ = 0;
    std::string out_;
};

constexpr uint32_t kLastCodePoint = 0x10ffff;

// Whether the flag i may be set inside the pattern: (?i) and the like. Too often is no harm.
bool may_become_caseless(std::string_view pattern) {
    for (size_t at = pattern.find("(?"); at != std::string_view::npos;
         at = pattern.find("(?", at)) {
        for (at += 2; at < pattern.size() && (is_letter(pattern[at]) || one_of(pattern[at], "-^"));
             ++at) {
            if (pattern[at] == 'i') return true;
        }
    }
    return false;
}

// Returns the highest character that an escape may stand for, as the end of a range.
uint32_t highest_escaped(std::string_view rest) {
    constexpr uint32_t kHighestOctal = 0777;
    if (rest.empty() || !one_of(rest[0], "xoN") || rest.substr(1, 1) != "{") return kHighestOctal;
    const bool by_name = rest.starts_with("N{U+");
    if (!by_name && rest[0] != 'x') return kLastCodePoint;
    rest.remove_prefix(by_name ? 4 : 2);
    uint32_t point = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), point, 16);
    return error == std::errc() ? std::min(point, kLastCodePoint) : kLastCodePoint;
}

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The first character of UTF-8; what is none counts as the last of all.
uint32_t first_character(std::string_view utf8) {
    unsigned point = 0;
    return base::utf8_character(utf8, &point) == 0 ? kLastCodePoint : point;
}

// The character in front of a range's hyphen, where it is sure to be that one; else the first of
// all. `quotes`: there are some in the pattern, in which an escape is none.
uint32_t lowest_before(std::string_view front, bool quotes) {
    if (front.empty()) return 0;
    if (continues(front.back())) {
        size_t at = front.size() - 1;
        while (at > 0 && continues(front[at]))
            --at;
        return first_character(front.substr(at));
    }
    constexpr size_t kLongestEscape = 16;
    const size_t near = front.size() - std::min(front.size(), kLongestEscape);
    const size_t found = front.substr(near).rfind("\\x{");
    const size_t escape = found == std::string_view::npos ? found : near + found;
    if (quotes || front.back() != '}' || escape == std::string_view::npos) return 0;
    size_t backslashes = 1;
    while (backslashes <= escape && front[escape - backslashes] == '\\')
        ++backslashes;
    uint32_t point = 0;
    const char* const last = front.data() + front.size() - 1;
    const auto [end, error] = std::from_chars(front.data() + escape + 3, last, point, 16);
    return backslashes % 2 == 1 && error == std::errc() && end == last ? point : 0;
}

}  // namespace

std::string in_pcre2_syntax(std::string_view pattern, bool extended) {
    return Rewriter(pattern, extended).run();
}

uint64_t caseless_range_characters(std::string_view pattern, std::string_view flags) {
    if (flags.find('i') == std::string_view::npos && !may_become_caseless(pattern)) return 0;
    const bool quotes = pattern.find("\\Q") != std::string_view::npos;
    uint64_t characters = 0;
    for (size_t at = pattern.find('-'); at != std::string_view::npos;
         at = pattern.find('-', at + 1)) {
        std::string_view rest = pattern.substr(at + 1);
        // Skips everything before a range's end that stands for nothing, or may be left out (with
        // the flag xx).
        while (!rest.empty() &&
               (rest.starts_with("\\Q") || rest.starts_with("\\E") || one_of(rest[0], " \t")))
            rest.remove_prefix(rest[0] == '\\' ? 2 : 1);
        if (rest.empty()) break;
        const uint32_t low = lowest_before(pattern.substr(0, at), quotes);
        const uint32_t high =
            rest[0] == '\\' ? highest_escaped(rest.substr(1)) : first_character(rest);
        characters += low <= high ? high - low + 1 : 0;
    }
    return characters;
}

}  // namespace query
