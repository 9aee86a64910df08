#include "text/tokens.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>

#include "base/dcheck.h"
#include "base/utf8.h"
#include "sched/tick.h"
#include "text/hash.h"

namespace text {

namespace {

bool is_ascii_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_ascii_word(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c < ' ' || c >= 0x7f;
}

bool parts_words(UChar32 c) {
    for (const UProperty property : {UCHAR_DASH, UCHAR_HYPHEN, UCHAR_PATTERN_SYNTAX,
                                     UCHAR_QUOTATION_MARK, UCHAR_TERMINAL_PUNCTUATION})
        if (u_hasBinaryProperty(c, property)) return true;
    return false;
}

void append_utf8(std::string& out, UChar32 c) {
    char bytes[U8_MAX_LENGTH];
    int32_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, c);
    out.append(bytes, static_cast<size_t>(size));
}

// Appends a character without its marks.
void append_plain(std::string& out, UChar32 c) {
    UErrorCode error = U_ZERO_ERROR;
    static const UNormalizer2* const normalizer = unorm2_getNFDInstance(&error);
    UChar parts[32];
    int32_t size = -1;
    if (normalizer != nullptr) {
        error = U_ZERO_ERROR;
        size = unorm2_getDecomposition(normalizer, c, parts, 32, &error);
    }
    if (size < 0 || U_FAILURE(error)) {
        if (!u_hasBinaryProperty(c, UCHAR_DIACRITIC)) append_utf8(out, c);
        return;
    }
    for (int32_t i = 0; i < size;) {
        UChar32 part = 0;
        U16_NEXT(parts, i, size, part);
        if (!u_hasBinaryProperty(part, UCHAR_DIACRITIC)) append_utf8(out, part);
    }
}

std::string small_ascii(std::string_view text) {
    std::string small(text);
    for (char& c : small)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return small;
}

}  // namespace

Tokens::Tokens(std::string_view text, Version version, const Language& language)
    : left_(text.substr(0, text.find('\0'))),
      version_(version),
      has_apostrophes_(language.has_apostrophes()) {
    sched::tick_bytes(left_.size(), sched::PerTick::converted);
}

Tokens::Kind Tokens::kind(size_t* bytes) const {
    const auto c = static_cast<unsigned char>(left_.front());
    *bytes = 1;
    if (version_ != Version::v3 || c < 0x80) {
        if (is_ascii_space(c)) return Kind::space;
        if (c == '\'' && has_apostrophes_) return Kind::word;
        return is_ascii_word(c) ? Kind::word : Kind::other;
    }
    unsigned point = 0;
    *bytes = base::utf8_character(left_, &point);
    if (*bytes == 0) {
        *bytes = 1;
        return Kind::word;
    }
    const auto character = static_cast<UChar32>(point);
    if (u_hasBinaryProperty(character, UCHAR_WHITE_SPACE)) return Kind::space;
    return parts_words(character) ? Kind::other : Kind::word;
}

bool Tokens::next(Token* token) {
    size_t bytes = 0;
    while (!left_.empty()) {
        const Kind first = kind(&bytes);
        if (first == Kind::space) {
            left_.remove_prefix(bytes);
            after_space_ = true;
            continue;
        }
        size_t size = bytes;
        const std::string_view whole = left_;
        left_.remove_prefix(bytes);
        while (first == Kind::word && !left_.empty() && kind(&bytes) == Kind::word) {
            left_.remove_prefix(bytes);
            size += bytes;
        }
        *token = {whole.substr(0, size), first == Kind::word, after_space_};
        after_space_ = false;
        return true;
    }
    return false;
}

std::string fold(std::string_view text, Version version, const Folding& folding, bool dotless_i) {
    sched::tick_bytes(text.size(), sched::PerTick::converted);
    if (version != Version::v3)
        return folding.case_sensitive ? std::string(text) : small_ascii(text);
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const char first = text.front();
        // ASCII has no marks, and in Turkish alone an I of its own.
        if (static_cast<unsigned char>(first) < 0x80 && !dotless_i) {
            const bool is_large = first >= 'A' && first <= 'Z' && !folding.case_sensitive;
            out += is_large ? static_cast<char>(first - 'A' + 'a') : first;
            text.remove_prefix(1);
            continue;
        }
        unsigned point = 0;
        const size_t bytes = base::utf8_character(text, &point);
        if (bytes == 0) {
            out += first;
            text.remove_prefix(1);
            continue;
        }
        text.remove_prefix(bytes);
        auto c = static_cast<UChar32>(point);
        if (!folding.case_sensitive)
            c = u_foldCase(c, dotless_i ? U_FOLD_CASE_EXCLUDE_SPECIAL_I : U_FOLD_CASE_DEFAULT);
        if (folding.diacritic_sensitive || c < 0x80)
            append_utf8(out, c);
        else
            append_plain(out, c);
    }
    return out;
}

std::string term_of(std::string_view word, Version version, Language& language,
                    const Folding& folding) {
    constexpr Folding kSmall = {.case_sensitive = false, .diacritic_sensitive = true};
    const std::string small = fold(word, version, kSmall, language.has_dotless_i());
    if (language.is_stop_word(small)) return "";
    sched::tick_bytes(word.size(), sched::PerTick::converted);
    const std::string_view stem = language.stem(folding.case_sensitive ? word : small);
    if (version != Version::v3 || folding.diacritic_sensitive) return std::string(stem);
    return fold(stem, version, {.case_sensitive = true, .diacritic_sensitive = false});
}

std::string key_term(std::string term, Version version) {
    const size_t bytes_max = version == Version::v3 ? 256 : 32;
    const size_t bytes_kept = version == Version::v3 ? 224 : 32;
    if (version == Version::v1 || term.size() <= bytes_max) return term;
    const std::string hash = hash_in_hex(term);
    term.resize(bytes_kept);
    return term + hash;
}

}  // namespace text
