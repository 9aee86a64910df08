// text/tokens.h - the words of a text, one after the other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/language.h"

namespace text {

// Which differences between letters count.
struct Folding {
    bool case_sensitive = false;
    bool diacritic_sensitive = false;
    bool operator==(const Folding&) const = default;
};

// A word, or one character between words that is no white space.
struct Token {
    std::string_view text;  // of the input
    bool is_word = false;
    bool after_space = false;  // or at the beginning
};

// Indexes of version 1 and 2 look at bytes: ASCII letters, digits, `_`, in English `'`, control
// characters but for white space, and all bytes from 0x80 on are of words. A NUL ends the text.
// Version 3 looks at characters: those that Unicode has for dashes, hyphens, syntax, quotation
// marks, ends of phrases and white space part words.
class Tokens {
  public:
    Tokens(std::string_view text, Version version, const Language& language);
    bool next(Token* token);

  private:
    enum class Kind { word, space, other };
    // Of the character at the front of what is left, and how many bytes it has.
    Kind kind(size_t* bytes) const;

    std::string_view left_;
    const Version version_;
    const bool has_apostrophes_;
    bool after_space_ = true;
};

// Makes a text what it is compared as: version 1 and 2 know only the case of ASCII letters.
std::string fold(std::string_view text, Version version, const Folding& folding,
                 bool dotless_i = false);

// Returns the term of a word; empty: it is a stop word. `term`: of that index, cut where it is too
// long for one.
std::string term_of(std::string_view word, Version version, Language& language,
                    const Folding& folding);
// Returns what a key has of a term: a long one is cut, and its hash put behind.
std::string key_term(std::string term, Version version);

}  // namespace text
