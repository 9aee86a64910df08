// query/value/calendar.h - dates in UTC over the whole range of int64 milliseconds.
#pragma once

#include <cstdint>
#include <string>

namespace query {

struct CalendarDate {
    int64_t year = 1970;
    int month = 1;        // 1..12
    int day = 1;          // 1..31
    int day_of_year = 1;  // 1..366
    int day_of_week = 1;  // 1 (Sunday)..7
    int week = 0;         // 0..53; week 1 starts with the first Sunday
    // The year of ISO 8601: weeks go from Monday to Sunday, and belong to the year of their
    // Thursday.
    int64_t iso_year = 1970;
    int iso_week = 1;         // 1..53
    int iso_day_of_week = 4;  // 1 (Monday)..7
    int hour = 0;
    int minute = 0;
    int second = 0;
    int millisecond = 0;
};

CalendarDate calendar_date(int64_t ms_since_1970);

// Days from 1970-01-01 to a date. Months and days beyond their ends count on into others.
int64_t days_of_date(int64_t year, int64_t month, int64_t day);
int64_t days_of_iso_date(int64_t iso_year, int64_t iso_week, int64_t iso_day_of_week);
int days_in_month(int64_t year, int month);

constexpr int64_t kDayMs = 86400000;

// YYYY-MM-DDTHH:MM:SS, the year as it is.
std::string date_text(int64_t ms_since_1970);
// Writes the date in the same way, with milliseconds and the letter of UTC.
std::string iso_text(int64_t ms_since_1970);
// "May 13 16:53:20:3": month, day, time and increment.
std::string timestamp_text(uint64_t timestamp);

}  // namespace query
