// query/match/regex.h - a compiled regular expression (syntax of PCRE 8, UTF-8).
//
// It is safe to use from many threads at once. A pattern that cannot be compiled, or a text that
// cannot be matched, is an error, never a text that does not match: under $not that would be every
// document.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sched/counted.h"

namespace query {

class Regex {
  public:
    static constexpr size_t kPatternBytesMax = 32764;
    // The error that clients of today expect for a pattern that is invalid.
    static constexpr int kInvalid = 51091;

    // Flags: i m s x; other letters are kept but mean nothing. Both end at their first NUL. Throws
    // base::Error 2 for a pattern beyond kPatternBytesMax and for one that is invalid.
    Regex(std::string_view pattern, std::string_view flags);
    ~Regex();
    Regex(const Regex&) = delete;
    Regex& operator=(const Regex&) = delete;

    // Whether the pattern is found anywhere in the text, which ends at its first NUL. In text that
    // is not UTF-8 nothing is found but a prefix that is all the pattern asks for: of that the
    // bytes decide, as they do for an index. Throws base::Error 2 where the search takes more steps
    // than the library allows. Counts ticks (sched/tick.h), so that a search without end can
    // be ended.
    bool search(std::string_view text) const;

    // A part of a text, in bytes; kNowhere: a group that took no part in the match.
    struct Part {
        static constexpr size_t kNowhere = static_cast<size_t>(-1);
        size_t begin = kNowhere;
        size_t end = kNowhere;
    };
    // Finds the first match at `start` or later, which is no place within a character: the whole of
    // it, and what each of the pattern's groups matched. False if there is none. NULs are
    // characters of the text, unlike for search(), which it follows in all else.
    // REQUIRES: where `start` is not 0, a find() from 0 in the same text has not found it invalid.
    bool find(std::string_view text, size_t start, sched::Vector<Part>* parts) const;

    const std::string& pattern() const { return pattern_; }
    const std::string& flags() const { return flags_; }

    // Returns the text that every match must start with, for index bounds: the plain text behind a
    // leading ^ or \A. Empty if there is none. *exact: the pattern asks for nothing but this
    // prefix.
    std::string prefix(bool* exact) const;

  private:
    struct Compiled;
    struct Target;
    int match(const Target& target) const;
    int match_in_pieces(const Target& target) const;
    [[noreturn]] void fail_search(std::string_view text, int result) const;

    std::string pattern_;
    std::string flags_;
    std::unique_ptr<Compiled> compiled_;
    bool linear_ = false;
    std::string wanted_prefix_;  // all that the pattern asks for; empty: more, or less
};

}  // namespace query
