#define PCRE2_CODE_UNIT_WIDTH 8

#include "query/match/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/memory.h"
#include "base/operation.h"
#include "query/match/regex_syntax.h"

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

// What the library takes counts towards the operation's memory. No exception may cross its frames.
void* take(PCRE2_SIZE bytes, void*) {
    try {
        return base::memory::reallocate(nullptr, bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void give_back(void* p, void*) {
    base::memory::release(p);
}

pcre2_general_context* memory_context() {
    static pcre2_general_context* const context =
        pcre2_general_context_create(take, give_back, nullptr);
    return context;
}

// How much one search may cost: some tens of milliseconds, and memory for its backtracking.
constexpr uint32_t kStepsMax = 1'000'000;
constexpr uint32_t kHeapKilobytesMax = 20'000;
// Compiled to machine code, large patterns take much more memory than they are worth.
constexpr size_t kMachineCodeBytesMax = 16 * 1024;
// So many ticks (base/operation.h) stand for a pattern compiled or a text searched.
constexpr int64_t kTicks = 16;

pcre2_match_context* match_context() {
    static pcre2_match_context* const context = [] {
        pcre2_match_context* made = pcre2_match_context_create(nullptr);
        pcre2_set_match_limit(made, kStepsMax);
        pcre2_set_heap_limit(made, kHeapKilobytesMax);
        return made;
    }();
    return context;
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

namespace {

// As much nesting as the stack of a thread can take; the old library had no limit of its own.
constexpr uint32_t kMaxNestedGroups = 1000;

// Shared by all patterns, never changed.
pcre2_compile_context* compile_context() {
    static pcre2_compile_context* const context = [] {
        pcre2_compile_context* made = pcre2_compile_context_create(memory_context());
        pcre2_set_parens_nest_limit(made, kMaxNestedGroups);
#ifdef PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK
        pcre2_set_compile_extra_options(made, PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK);
#endif
        return made;
    }();
    return context;
}

// Null for a bad pattern; then `error` and `offset` say why and where.
pcre2_code* compile(std::string_view pattern, uint32_t options, int* error, PCRE2_SIZE* offset) {
    return pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                         error, offset, compile_context());
}

// The pattern in an error message: cut, and without what is no plain text.
std::string shown(std::string_view pattern) {
    constexpr size_t kMaxShown = 200;
    std::string text(pattern.substr(0, kMaxShown));
    std::ranges::replace_if(
        text, [](char c) { return static_cast<uint8_t>(c) - 0x20U >= 0x5fU; }, '?');
    return '/' + text + (pattern.size() > kMaxShown ? "..." : "/");
}

std::string message_of(int error) {
    char text[256] = "";
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
    return text;
}

// Patterns, flags and texts end at their first NUL, as they did for the old server.
std::string_view up_to_nul(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

// Texts that are not UTF-8 match nothing. These codes lie side by side.
bool is_not_utf8(int result) {
    return result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21;
}

}  // namespace

Regex::Regex(std::string_view pattern, std::string_view flags)
    : pattern_(up_to_nul(pattern)), flags_(up_to_nul(flags)) {
    if (pattern.size() > kMaxPatternBytes)
        base::fail(base::kBadValue, "Regular expression is too long");
    const uint32_t options = compile_options(flags_);
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code = compile(pattern_, options, &error, &offset);
    if (code == nullptr) {
        const std::string newer = in_newer_regex_syntax(pattern_, (options & PCRE2_EXTENDED) != 0);
        int ignored = 0;
        PCRE2_SIZE nowhere = 0;
        if (newer != pattern_) code = compile(newer, options, &ignored, &nowhere);
    }
    if (code == nullptr)
        base::fail(base::kBadValue, "Regular expression {} is invalid: {} (at byte {})",
                   shown(pattern_), message_of(error), offset);
    compiled_.reset(new Compiled{code});
    size_t bytes = 0;
    pcre2_pattern_info(code, PCRE2_INFO_SIZE, &bytes);
    if (bytes <= kMachineCodeBytesMax)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // failing only means slower
    base::Operation::tick(kTicks);
}

Regex::~Regex() = default;

bool Regex::search(std::string_view text) const {
    text = up_to_nul(text);
    thread_local MatchData match;
    const auto search_with = [&](uint32_t options) {
        return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                           0, options, match.data, match_context());
    };
    base::Operation::tick(kTicks);
    int result = search_with(0);
    // Much backtracking outgrows the small stack of compiled patterns; the interpreter has a heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = search_with(PCRE2_NO_JIT);
    if (result >= 0) return true;
    if (result != PCRE2_ERROR_NOMATCH && !is_not_utf8(result))
        base::fail(base::kBadValue,
                   "Regular expression {} could not be matched against a text of {} bytes: {}",
                   shown(pattern_), text.size(), message_of(result));
    return false;
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

// What the library reads past, other than white space: comments, an \E that ends nothing, and with
// the flag x maybe a character beyond ASCII.
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
