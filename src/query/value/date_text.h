// query/value/date_text.h - dates as texts: reading and writing them, with and without a
// format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query/value/time_zone.h"
#include "query/value/value.h"

namespace query {

// Milliseconds of a date, a timestamp or an ObjectId. Throws base::Error 16006.
int64_t instant_of(const Value& v);

// Reads ISO 8601 dates and the usual ways to write a date in English. `zone` is the zone of a text
// that names none, and null then means UTC; a text that does name one is refused if `zone` is
// given. Throws base::Error 241 for a text that is no date.
int64_t parse_date(std::string_view text, const TimeZone* zone);
// Reads a date by a format (%Y %m %d ...). Throws base::Error 241, and what check_format() does.
int64_t parse_date(std::string_view text, std::string_view format, const TimeZone* zone);

// The use of a format: %L is read in one to three digits, and not every letter is read.
enum class FormatUse { read, write };
// Throws base::Error 18535 and 18536.
void check_format(std::string_view format, FormatUse use);
// REQUIRES: a format that was checked. Throws base::Error 18537 for years beyond 0 to 9999.
std::string format_date(int64_t ms, std::string_view format, const TimeZone& zone);

}  // namespace query
