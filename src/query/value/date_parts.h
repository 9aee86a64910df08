// query/value/date_parts.h - names and units of the parts of a date, for reading and writing texts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace query {

inline constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

inline constexpr int64_t kOffsetMinuteMs = 60'000;

// Days and months may be written by so many of their first letters.
inline constexpr size_t kShortName = 3;

}  // namespace query
