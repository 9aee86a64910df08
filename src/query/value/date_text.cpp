#include "query/value/date_text.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <ranges>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/value/calendar.h"
#include "query/value/date_parts.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

constexpr std::array<std::string_view, 7> kWeekDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::string_view kWritten = "dGHjLmMSuUVYzZwbB%";
constexpr std::string_view kRead = "dGHjLmMSuVYzZbB%";

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool equals_caseless(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The number of a name, in full or by its first three letters, counted from 0.
template <size_t N>
std::optional<int> number_of_name(std::string_view word,
                                  const std::array<std::string_view, N>& names) {
    for (size_t i = 0; i < N; ++i) {
        if (equals_caseless(word, names[i]) ||
            equals_caseless(word, names[i].substr(0, kShortName)))
            return static_cast<int>(i);
    }
    return std::nullopt;
}

// The parts of a date that a text names.
struct Parts {
    std::optional<int64_t> year, month, day, day_of_year, iso_year, iso_week, iso_day;
    std::optional<int64_t> hour, minute, second, millisecond;
    std::optional<int64_t> offset_ms;
    std::shared_ptr<const TimeZone> zone;
};

// Reads a text from front to back.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text), rest_(text) {}

    [[noreturn]] void fail(std::string_view why) const {
        base::fail(base::kConversionFailure, "Error parsing date string '{}'; {}: {} '{}'", text_,
                   text_.size() - rest_.size(), why, rest_.substr(0, 1));
    }
    bool at_end() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }
    char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
    void skip(size_t n) {
        DCHECK(n <= rest_.size());
        rest_.remove_prefix(n);
    }
    bool take(char c) {
        if (peek() != c || rest_.empty()) return false;
        skip(1);
        return true;
    }
    size_t digits() const {
        return static_cast<size_t>(std::ranges::find_if_not(rest_, is_digit) - rest_.begin());
    }
    // A number of so many digits.
    int64_t number(size_t least, size_t most, std::string_view what) {
        DCHECK(most <= 18);  // what an int64 holds
        const size_t n = std::min(digits(), most);
        if (n < least || n == 0) fail(fmt::format("{} could not be found", what));
        int64_t value = 0;
        for (const char c : rest_.substr(0, n))
            value = value * 10 + (c - '0');
        skip(n);
        return value;
    }
    std::string_view word() {
        const auto end = std::ranges::find_if_not(rest_, is_letter);
        const std::string_view word = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
        skip(word.size());
        return word;
    }
    // "+05:30", "-03", "+0130".
    int64_t offset() {
        int64_t ms = 0;
        for (const size_t size : {6, 5, 3}) {
            if (rest_.size() < size || !parse_offset(rest_.substr(0, size), &ms)) continue;
            skip(size);
            return ms;
        }
        fail("Timezone offset could not be found");
    }

  private:
    std::string_view text_;
    std::string_view rest_;
};

void require(const Reader& in, bool holds, std::string_view why) {
    if (!holds) in.fail(why);
}

// The instant that the parts name.
int64_t instant_from(const Reader& in, const Parts& p, const TimeZone* zone) {
    const bool natural = p.year && ((p.month && p.day) || p.day_of_year);
    const bool iso = p.iso_year && p.iso_week;
    require(in, natural || iso,
            "an incomplete date/time string has been found, with elements missing:");
    int64_t days = 0;
    if (iso) {
        require(in, *p.iso_week >= 1 && *p.iso_week <= 53, "Unexpected week");
        days = days_of_iso_date(*p.iso_year, *p.iso_week, p.iso_day.value_or(1));
    } else if (p.day_of_year) {
        require(in, *p.day_of_year >= 1 && *p.day_of_year <= 366, "Unexpected day of the year");
        days = days_of_date(*p.year, 1, *p.day_of_year);
    } else {
        require(in, *p.month >= 1 && *p.month <= 12, "Unexpected month");
        require(in, *p.day >= 1 && *p.day <= days_in_month(*p.year, static_cast<int>(*p.month)),
                "The parsed date was invalid");
        days = days_of_date(*p.year, *p.month, *p.day);
    }
    const int64_t hour = p.hour.value_or(0);
    const int64_t minute = p.minute.value_or(0);
    const int64_t second = p.second.value_or(0);
    require(in, hour <= 24 && minute <= 59 && second <= 60, "The parsed time was invalid");
    const int64_t local = days * kDayMs + hour * 3'600'000 + minute * 60'000 + second * 1000 +
                          p.millisecond.value_or(0);
    const bool names_zone = p.offset_ms || p.zone;
    if (names_zone && zone != nullptr)
        base::fail(base::kConversionFailure,
                   "you cannot pass in a date/time string with time zone information together "
                   "with a timezone argument");
    if (p.offset_ms) return local - *p.offset_ms;
    if (p.zone) return p.zone->instant_of(local);
    return (zone == nullptr ? TimeZone::utc() : *zone).instant_of(local);
}

// Thousandths of a second; more digits mean nothing.
int64_t fraction(Reader& in) {
    const size_t n = in.digits();
    require(in, n > 0, "Unexpected character");
    int64_t ms = 0;
    for (size_t i = 0; i < 3; ++i)
        ms = ms * 10 + (i < n ? in.rest()[i] - '0' : 0);
    in.skip(n);
    return ms;
}

void read_time(Reader& in, Parts& p) {
    require(in, !p.hour, "Double time specification");
    if (const size_t n = in.digits(); n == 4 || n == 6) {  // HHMM, HHMMSS
        p.hour = in.number(2, 2, "hour");
        p.minute = in.number(2, 2, "minute");
        if (n == 6) p.second = in.number(2, 2, "second");
    } else {
        p.hour = in.number(1, 2, "hour");
        if (in.take(':')) p.minute = in.number(2, 2, "minute");
        if (p.minute && in.take(':')) p.second = in.number(1, 2, "second");
    }
    if (p.second && (in.take('.') || in.take(','))) p.millisecond = fraction(in);
    Reader ahead = in;
    while (ahead.take(' ')) {
    }
    const std::string_view half = ahead.word();
    const bool am = equals_caseless(half, "am");
    const bool pm = equals_caseless(half, "pm");
    if (!am && !pm) return;
    require(in, *p.hour >= 1 && *p.hour <= 12, "Unexpected hour");
    p.hour = *p.hour % 12 + (pm ? 12 : 0);
    in = ahead;
}

void set_date(const Reader& in, Parts& p, int64_t year, int64_t month, int64_t day) {
    require(in, !p.year && !p.month && !p.day, "Double date specification");
    p.year = year;
    p.month = month;
    p.day = day;
}

// Reads a date that begins with a year of four digits.
void read_from_year(Reader& in, Parts& p) {
    const int64_t year = in.number(4, 4, "year");
    if (in.take('/')) {
        const int64_t month = in.number(1, 2, "month");
        require(in, in.take('/'), "Unexpected character");
        return set_date(in, p, year, month, in.number(1, 2, "day"));
    }
    if (!in.take('-')) {  // behind a month and a day
        require(in, p.month && p.day && !p.year, "Unexpected character");
        p.year = year;
        return;
    }
    if (in.take('W')) {
        p.iso_year = year;
        p.iso_week = in.number(2, 2, "week");
        if (in.take('-')) p.iso_day = in.number(1, 1, "day");
        return;
    }
    if (in.digits() == 3) {
        p.year = year;
        p.day_of_year = in.number(3, 3, "day of the year");
        return;
    }
    const int64_t month = in.number(1, 2, "month");
    set_date(in, p, year, month, in.take('-') ? in.number(1, 2, "day") : 1);
}

void read_digits(Reader& in, Parts& p) {
    const size_t n = in.digits();
    const char next = n < in.rest().size() ? in.rest()[n] : '\0';
    if (n <= 2 && next == ':') return read_time(in, p);
    if (n == 8) {
        const int64_t year = in.number(4, 4, "year");
        const int64_t month = in.number(2, 2, "month");
        return set_date(in, p, year, month, in.number(2, 2, "day"));
    }
    if (n == 4) return read_from_year(in, p);
    const int64_t first = in.number(1, 2, "day");
    if (in.take('/')) {  // month/day/year
        const int64_t day = in.number(1, 2, "day");
        require(in, in.take('/'), "Unexpected character");
        return set_date(in, p, in.number(4, 4, "year"), first, day);
    }
    if (in.take('.') || in.take('-')) {  // day.month.year
        if (is_letter(in.peek())) {
            p.day = first;
            return;
        }
        const int64_t month = in.number(1, 2, "month");
        require(in, in.take('.') || in.take('-'), "Unexpected character");
        return set_date(in, p, in.number(4, 4, "year"), month, first);
    }
    Reader ahead = in;
    const std::string_view word = ahead.word();
    if (equals_caseless(word, "am") || equals_caseless(word, "pm")) {
        p.hour = first % 12 + (equals_caseless(word, "pm") ? 12 : 0);
        in = ahead;
        return;
    }
    for (const std::string_view ending : {"st", "nd", "rd", "th"})
        if (equals_caseless(word, ending)) in = ahead;
    require(in, !p.day, "Double date specification");
    p.day = first;
}

void read_zone_name(Reader& in, Parts& p) {
    const std::string_view all = in.rest();
    const auto end = std::ranges::find_if_not(all, [](char c) {
        return is_letter(c) || is_digit(c) || c == '/' || c == '_' || c == '-' || c == '+';
    });
    const std::string_view name = all.substr(0, static_cast<size_t>(end - all.begin()));
    require(in, !p.zone && !p.offset_ms, "Double timezone specification");
    try {
        p.zone = TimeZone::of(equals_caseless(name, "z") ? "UTC" : name);
    } catch (const base::Error&) {
        in.fail("The timezone could not be found in the database");
    }
    in.skip(name.size());
}

void read_word(Reader& in, Parts& p) {
    const bool has_date = p.year || p.iso_year;
    if ((in.peek() == 'T' || in.peek() == 't') && has_date && in.rest().size() > 1 &&
        is_digit(in.rest()[1])) {
        in.skip(1);
        return read_time(in, p);
    }
    Reader ahead = in;
    const std::string_view word = ahead.word();
    if (const auto month = number_of_name(word, kMonths)) {
        require(in, !p.month, "Double date specification");
        p.month = *month + 1;
        in = ahead;
        in.take('.');
        in.take('-');
    } else if (number_of_name(word, kWeekDays)) {
        in = ahead;
    } else {
        read_zone_name(in, p);
    }
}

// One part that a format asks for.
void read_part(Reader& in, char letter, Parts& p) {
    switch (letter) {
        case 'Y':
            p.year = in.number(4, 4, "year");
            return;
        case 'm':
            p.month = in.number(1, 2, "month");
            return;
        case 'b':
        case 'B': {
            const auto month = number_of_name(in.word(), kMonths);
            require(in, month.has_value(), "month name could not be found");
            p.month = *month + 1;
            return;
        }
        case 'd':
            p.day = in.number(1, 2, "day");
            return;
        case 'j':
            p.day_of_year = in.number(1, 3, "day of the year");
            return;
        case 'G':
            p.iso_year = in.number(4, 4, "year");
            return;
        case 'V':
            p.iso_week = in.number(1, 2, "week");
            return;
        case 'u':
            p.iso_day = in.number(1, 1, "day of the week");
            return;
        case 'H':
            p.hour = in.number(1, 2, "hour");
            return;
        case 'M':
            p.minute = in.number(1, 2, "minute");
            return;
        case 'S':
            p.second = in.number(1, 2, "second");
            return;
        case 'L':
            p.millisecond = in.number(1, 3, "millisecond");
            return;
        case 'z':
            if (in.take('Z')) {
                p.offset_ms = 0;
            } else {
                p.offset_ms = in.offset();
            }
            return;
        case 'Z': {
            const bool negative = in.take('-');
            if (!negative) in.take('+');
            const int64_t minutes = in.number(1, 4, "timezone offset");
            p.offset_ms = (negative ? -minutes : minutes) * kOffsetMinuteMs;
            return;
        }
        default:
            DCHECK(letter == '%');
            require(in, in.take('%'), "The format separator does not match");
    }
}

}  // namespace

int64_t instant_of(const Value& v) {
    switch (v.type()) {
        case Type::date:
            return v.as_date();
        case Type::timestamp:
            return static_cast<int64_t>(v.as_timestamp() >> 32) * 1000;
        case Type::object_id: {
            const bson::ObjectId id = v.as_object_id();
            uint32_t seconds = 0;
            for (int i = 0; i < 4; ++i)
                seconds = seconds << 8 | id.bytes[i];
            return static_cast<int64_t>(seconds) * 1000;
        }
        default:
            base::fail(16006, "can't convert from BSON type {} to Date", bson::name_of(v.type()));
    }
}

int64_t parse_date(std::string_view text, const TimeZone* zone) {
    Reader in(text);
    Parts p;
    while (!in.at_end()) {
        sched::tick();
        const char c = in.peek();
        if (c == ' ' || c == ',') {
            in.skip(1);
        } else if (is_digit(c)) {
            read_digits(in, p);
        } else if (is_letter(c)) {
            read_word(in, p);
        } else if ((c == '+' || c == '-') && p.hour) {
            require(in, !p.zone && !p.offset_ms, "Double timezone specification");
            p.offset_ms = in.offset();
        } else {
            in.fail("Unexpected character");
        }
    }
    return instant_from(in, p, zone);
}

int64_t parse_date(std::string_view text, std::string_view format, const TimeZone* zone) {
    check_format(format, FormatUse::read);
    Reader in(text);
    Parts p;
    for (size_t i = 0; i < format.size(); ++i) {
        sched::tick();
        if (format[i] == '%')
            read_part(in, format[++i], p);
        else
            require(in, in.take(format[i]), "The format separator does not match");
    }
    require(in, in.at_end(), "Trailing data");
    return instant_from(in, p, zone);
}

void check_format(std::string_view format, FormatUse use) {
    const std::string_view known = use == FormatUse::write ? kWritten : kRead;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') continue;
        if (++i == format.size()) base::fail(18535, "Unmatched '%' at end of format string");
        if (known.find(format[i]) == std::string_view::npos)
            base::fail(18536, "Invalid format character '%{}' in format string", format[i]);
    }
}

}  // namespace query
