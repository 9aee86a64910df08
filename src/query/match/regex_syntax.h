// query/match/regex_syntax.h - patterns of the old regular expression library, PCRE 8, as PCRE2
// reads them.
//
// PCRE2 refuses some of what its predecessor took in its stride: a hyphen beside a class escape
// ([\w-.]), escapes of letters that mean nothing (\y), half-written code points (\x{2z}). Filters
// that clients keep in their code use them, and a filter that suddenly matches nothing is dangerous
// under $not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace query {

// Returns the same pattern in words that PCRE2 accepts. A part that needs no change stays as it is,
// and so does one that the old library refused, too. `extended`: the flag x.
std::string in_pcre2_syntax(std::string_view pattern, bool extended);

// An upper bound for the characters that the library goes over, one by one, to compile the ranges
// ([a-z]) of a pattern that compares without case, as a whole or in part. 0 where it does not. Each
// range may have all of Unicode.
uint64_t caseless_range_characters(std::string_view pattern, std::string_view flags);

}  // namespace query
