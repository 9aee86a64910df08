// Writes dates as texts, after a format.
#include <fmt/core.h>
#include <fmt/format.h>

#include <iterator>

#include "base/dcheck.h"
#include "base/error.h"
#include "query/value/calendar.h"
#include "query/value/date_parts.h"
#include "query/value/date_text.h"

namespace query {

namespace {

void write_part(char letter, const CalendarDate& d, int64_t offset_ms, std::string& out) {
    const auto to = std::back_inserter(out);
    const int64_t minutes = offset_ms / kOffsetMinuteMs;
    const int64_t size = minutes < 0 ? -minutes : minutes;
    const char sign = minutes < 0 ? '-' : '+';
    switch (letter) {
        case 'd':
            fmt::format_to(to, "{:02}", d.day);
            return;
        case 'G':
            fmt::format_to(to, "{:04}", d.iso_year);
            return;
        case 'H':
            fmt::format_to(to, "{:02}", d.hour);
            return;
        case 'j':
            fmt::format_to(to, "{:03}", d.day_of_year);
            return;
        case 'L':
            fmt::format_to(to, "{:03}", d.millisecond);
            return;
        case 'm':
            fmt::format_to(to, "{:02}", d.month);
            return;
        case 'M':
            fmt::format_to(to, "{:02}", d.minute);
            return;
        case 'S':
            fmt::format_to(to, "{:02}", d.second);
            return;
        case 'u':
            fmt::format_to(to, "{}", d.iso_day_of_week);
            return;
        case 'w':
            fmt::format_to(to, "{}", d.day_of_week);
            return;
        case 'U':
            fmt::format_to(to, "{:02}", d.week);
            return;
        case 'V':
            fmt::format_to(to, "{:02}", d.iso_week);
            return;
        case 'Y':
            if (d.year < 0 || d.year > 9999)
                base::fail(18537,
                           "$dateToString is only defined on year 0-9999, tried to use year {}",
                           d.year);
            fmt::format_to(to, "{:04}", d.year);
            return;
        case 'b':
            out += kMonths[static_cast<size_t>(d.month - 1)].substr(0, kShortName);
            return;
        case 'B':
            out += kMonths[static_cast<size_t>(d.month - 1)];
            return;
        case 'z':
            fmt::format_to(to, "{}{:02}{:02}", sign, size / 60, size % 60);
            return;
        case 'Z':
            fmt::format_to(to, "{}{:03}", sign, size);
            return;
        default:
            DCHECK(letter == '%');
            out += letter;
    }
}

}  // namespace

std::string format_date(int64_t ms, std::string_view format, const TimeZone& zone) {
    const int64_t offset = zone.offset_at(ms);
    const CalendarDate date = calendar_date(zone.local(ms));
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
        DCHECK(format[i] != '%' || i + 1 < format.size());
        if (format[i] == '%')
            write_part(format[++i], date, offset, out);
        else
            out += format[i];
    }
    return out;
}

}  // namespace query
