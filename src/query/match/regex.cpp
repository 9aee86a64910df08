#define PCRE2_CODE_UNIT_WIDTH 8

#include "query/match/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace query {

namespace {

uint32_t compile_options(std::string_view flags) {
    uint32_t options = PCRE2_UTF;
    for (const char flag : flags) {
        switch (flag) {
            case 'i':
                options |= PCRE2_CASELESS;
                break;
            case 'm':
                options |= PCRE2_MULTILINE;
                break;
            case 's':
                options |= PCRE2_DOTALL;
                break;
            case 'x':
                options |= PCRE2_EXTENDED;
                break;
            default:
                break;
        }
    }
    return options;
}

// One per thread: a search needs a place for offsets, and only whether it matched is of interest.
struct MatchData {
    pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
    ~MatchData() { pcre2_match_data_free(data); }
};

}  // namespace

struct Regex::Compiled {
    pcre2_code* code;
    ~Compiled() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern, std::string_view flags) : pattern_(pattern), flags_(flags) {
    if (pattern.size() > kMaxPatternBytes)
        base::fail(base::kBadValue, "Regular expression is too long");
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern_.data()), pattern_.size(),
                                     compile_options(flags), &error, &offset, nullptr);
    if (code == nullptr) return;
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // failing only means slower
    compiled_.reset(new Compiled{code});
}

Regex::~Regex() = default;

bool Regex::search(std::string_view text) const {
    if (compiled_ == nullptr) return false;
    text = text.substr(0, text.find('\0'));
    thread_local MatchData match;
    const auto search_with = [&](uint32_t options) {
        return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                           0, options, match.data, nullptr);
    };
    int result = search_with(0);
    // Much backtracking outgrows the small stack of compiled patterns; the interpreter has a heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = search_with(PCRE2_NO_JIT);
    return result >= 0;
}

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

}  // namespace

std::string Regex::prefix(bool* exact) const {
    *exact = false;
    std::string text;
    std::string_view rest = pattern_;
    const bool multiline = flags_.find('m') != std::string::npos;
    const bool extended = flags_.find('x') != std::string::npos;
    // With other flags than these the old server looked for no prefix.
    if (!valid() || flags_.find_first_not_of("mx") != std::string::npos || has_alternative(rest))
        return text;
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
        if (extended && rest[0] == '#') return text;
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
