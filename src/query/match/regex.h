// query/match/regex.h - a compiled regular expression (PCRE syntax, UTF-8).
//
// Safe to use from many threads at once. A pattern that does not compile is no error: it matches
// nothing (semantics 1).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace query {

class Regex {
  public:
    static constexpr size_t kMaxPatternBytes = 32764;

    // Flags: i m s x; other letters are kept but mean nothing. Throws base::Error 2 for a pattern
    // beyond kMaxPatternBytes.
    Regex(std::string_view pattern, std::string_view flags);
    ~Regex();
    Regex(const Regex&) = delete;
    Regex& operator=(const Regex&) = delete;

    // Whether the pattern is found anywhere in the text, which ends at its first NUL. Never for
    // text that is not UTF-8.
    bool search(std::string_view text) const;
    bool valid() const { return compiled_ != nullptr; }
    const std::string& pattern() const { return pattern_; }
    const std::string& flags() const { return flags_; }

    // What every match must start with, for index bounds: the plain text behind a leading ^ or \A.
    // Empty if there is none. *exact: the pattern asks for nothing but this prefix.
    std::string prefix(bool* exact) const;

  private:
    struct Compiled;
    std::string pattern_;
    std::string flags_;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace query
