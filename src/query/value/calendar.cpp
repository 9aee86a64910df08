#include "query/value/calendar.h"

#include <fmt/core.h>

#include <chrono>

#include "base/dcheck.h"

namespace query {

namespace {

bool is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// The week belongs to the year in which its Thursday is.
void set_iso_week(CalendarDate& date) {
    constexpr int kThursday = 4;
    date.iso_year = date.year;
    int thursday = date.day_of_year + kThursday - date.iso_day_of_week;
    if (thursday < 1) {
        --date.iso_year;
        thursday += is_leap(date.iso_year) ? 366 : 365;
    } else if (const int days = is_leap(date.year) ? 366 : 365; thursday > days) {
        ++date.iso_year;
        thursday -= days;
    }
    date.iso_week = (thursday - 1) / 7 + 1;
    DCHECK(date.iso_week >= 1 && date.iso_week <= 53);
}

// Days since 1970-01-01 to a date of the proleptic Gregorian calendar, counted in eras of 400 years
// that begin on a 1st of March.
void set_day(CalendarDate& date, int64_t days) {
    constexpr int64_t kEraDays = 146097;
    const int64_t shifted = days + 719468;  // days since 0000-03-01
    const int64_t era = (shifted >= 0 ? shifted : shifted - (kEraDays - 1)) / kEraDays;
    const int64_t day_of_era = shifted - era * kEraDays;
    DCHECK(day_of_era >= 0 && day_of_era < kEraDays);
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 -
                                              year_of_era / 100);  // from 1st of March
    const int64_t month = (5 * day_of_year + 2) / 153;             // 0 is March
    date.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
    DCHECK(date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= 31);
    date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
    const bool leap = is_leap(date.year);
    // January and February end the shifted year.
    date.day_of_year =
        static_cast<int>(month < 10 ? day_of_year + 60 + (leap ? 1 : 0) : day_of_year - 305);
    const int64_t week_day = (days % 7 + 7 + 4) % 7;  // 1970-01-01 was a Thursday
    date.day_of_week = static_cast<int>(week_day) + 1;
    date.week = static_cast<int>((date.day_of_year - 1 + 7 - week_day) / 7);
    date.iso_day_of_week = week_day == 0 ? 7 : static_cast<int>(week_day);
    set_iso_week(date);
}

}  // namespace

CalendarDate calendar_date(int64_t ms) {
    int64_t days = ms / kDayMs;
    int64_t rest = ms % kDayMs;
    if (rest < 0) {
        rest += kDayMs;
        --days;
    }
    CalendarDate date;
    set_day(date, days);
    date.millisecond = static_cast<int>(rest % 1000);
    date.second = static_cast<int>(rest / 1000 % 60);
    date.minute = static_cast<int>(rest / 60000 % 60);
    date.hour = static_cast<int>(rest / 3600000);
    return date;
}

int64_t days_of_date(int64_t year, int64_t month, int64_t day) {
    // Counted in years that begin on a 1st of March.
    const int64_t months = month - 3;
    const int64_t carried = months >= 0 ? months / 12 : -((11 - months) / 12);
    year += carried;
    const int64_t month_of_year = months - carried * 12;
    DCHECK(month_of_year >= 0 && month_of_year < 12);
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const int64_t year_of_era = year - era * 400;
    const int64_t day_of_year = (153 * month_of_year + 2) / 5;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year +
           day - 1 - 719468;
}

int64_t days_of_iso_date(int64_t iso_year, int64_t iso_week, int64_t iso_day_of_week) {
    // The 4th of January is always in the first week.
    const int64_t fourth = days_of_date(iso_year, 1, 4);
    const int64_t monday = fourth - ((fourth % 7 + 7 + 3) % 7);
    return monday + (iso_week - 1) * 7 + iso_day_of_week - 1;
}

int days_in_month(int64_t year, int month) {
    DCHECK(month >= 1 && month <= 12);
    static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

std::string date_text(int64_t ms) {
    const CalendarDate d = calendar_date(ms);
    return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}", d.year, d.month, d.day, d.hour, d.minute,
                       d.second);
}

std::string iso_text(int64_t ms) {
    const CalendarDate d = calendar_date(ms);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", d.year, d.month, d.day, d.hour,
                       d.minute, d.second, d.millisecond);
}

std::string timestamp_text(uint64_t timestamp) {
    static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const CalendarDate d = calendar_date(static_cast<int64_t>(timestamp >> 32) * 1000);
    return fmt::format("{} {:2} {:02}:{:02}:{:02}:{:x}", kMonths[d.month - 1], d.day, d.hour,
                       d.minute, d.second, timestamp & 0xffffffff);
}

}  // namespace query
