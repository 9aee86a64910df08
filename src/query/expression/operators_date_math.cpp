// $dateAdd $dateSubtract $dateDiff $dateTrunc: dates by units of the calendar, in a time zone.

#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/expression/date_operands.h"
#include "query/expression/operators.h"
#include "query/value/calendar.h"
#include "query/value/date_text.h"

namespace query {

using bson::Type;

namespace {

constexpr int64_t kDaysPerWeek = 7;
constexpr int kSunday = 7;

int64_t divide_down(int64_t a, int64_t b) {
    DCHECK(b > 0);
    const int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t day_of(int64_t local_ms) {
    return divide_down(local_ms, kDayMs);
}
// Months since the year 0.
int64_t month_of(int64_t local_ms) {
    const CalendarDate d = calendar_date(local_ms);
    return d.year * 12 + d.month - 1;
}
// Weeks since one that begins with that day (1, Monday, to 7) about 1970-01-01, a Thursday.
int64_t week_of(int64_t local_ms, int first_day) {
    DCHECK(first_day >= 1 && first_day <= 7);
    constexpr int64_t kThursday = 4;
    return divide_down(day_of(local_ms) + kThursday - first_day, kDaysPerWeek);
}
int64_t day_of_week_number(int64_t week, int first_day) {
    constexpr int64_t kThursday = 4;
    return week * kDaysPerWeek + first_day - kThursday;
}
int64_t first_of_month(int64_t month) {
    return days_of_date(divide_down(month, 12), month - divide_down(month, 12) * 12 + 1, 1);
}

bool is_month_unit(TimeUnit unit) {
    return unit == TimeUnit::year || unit == TimeUnit::quarter || unit == TimeUnit::month;
}
int64_t months_in(TimeUnit unit) {
    DCHECK(is_month_unit(unit));
    return unit == TimeUnit::year ? 12 : unit == TimeUnit::quarter ? 3 : 1;
}

Value date_operand(const Value& v, std::string_view op, std::string_view name, int code) {
    if (v.type() != Type::date && v.type() != Type::timestamp && v.type() != Type::object_id)
        base::fail(code, "{} requires '{}' to be a date, but got {}", op, name,
                   bson::name_of(v.type()));
    return v;
}

[[noreturn]] void fail_range(std::string_view op) {
    base::fail(5166406, "{} makes a date that is out of range", op);
}

// The day of a month that has fewer days is its last one.
int64_t add_months(int64_t local_ms, int64_t months) {
    const CalendarDate d = calendar_date(local_ms);
    const int64_t month = d.year * 12 + d.month - 1 + months;
    const int64_t year = divide_down(month, 12);
    const int of_year = static_cast<int>(month - year * 12) + 1;
    const int day = std::min(d.day, days_in_month(year, of_year));
    return days_of_date(year, of_year, day) * kDayMs + local_ms - day_of(local_ms) * kDayMs;
}

}  // namespace

int64_t date_plus(std::string_view op, int64_t ms, TimeUnit unit, int64_t amount,
                  const TimeZone& zone) {
    // More than all years that there are, and far from where an int64 ends.
    constexpr int64_t kMonthsMax = int64_t{12} * 400'000'000;
    if (is_month_unit(unit)) {
        int64_t months = 0;
        if (__builtin_mul_overflow(amount, months_in(unit), &months) || months > kMonthsMax ||
            months < -kMonthsMax)
            fail_range(op);
        constexpr int64_t kYearsMax = 292'000'000;
        const CalendarDate d = calendar_date(zone.local(ms));
        const int64_t year = d.year + months / 12;
        if (year > kYearsMax || year < -kYearsMax) fail_range(op);
        return zone.instant_of(add_months(zone.local(ms), months));
    }
    const bool by_days = unit == TimeUnit::week || unit == TimeUnit::day;
    int64_t more = 0;
    const int64_t size = unit == TimeUnit::week ? kDaysPerWeek * kDayMs : milliseconds_in(unit);
    int64_t result = 0;
    if (__builtin_mul_overflow(amount, size, &more) ||
        __builtin_add_overflow(by_days ? zone.local(ms) : ms, more, &result))
        fail_range(op);
    return by_days ? zone.instant_of(result) : result;
}

namespace {

enum AddOperand { kStart, kAddUnit, kAmount, kAddZone };
constexpr NamedOperand kAdd[] = {
    {"startDate", 5166402}, {"unit", 5166402}, {"amount", 5166402}, {"timezone"}};

template <int Sign>
Value date_add(const Call& call, Values v) {
    const ZonePtr zone = zone_operand(call, v, kAddZone);
    if (zone == nullptr || is_nullish(v[kStart]) || is_nullish(v[kAddUnit]) ||
        is_nullish(v[kAmount]))
        return null_value();
    const Value start = date_operand(v[kStart], call.name, "startDate", 5166403);
    const TimeUnit unit = unit_of(v[kAddUnit], call.name, 5166404);
    const Value& amount = v[kAmount];
    if (!amount.is_number() || amount.to_double() != static_cast<double>(amount.to_int64()))
        base::fail(5166405, "{} expects integer amount of time units", call.name);
    int64_t n = amount.to_int64();
    if (Sign < 0) {
        if (n == std::numeric_limits<int64_t>::min())
            base::fail(6045000, "invalid {} 'amount' parameter value: {}", call.name, n);
        n = -n;
    }
    return make_date(call.arena, date_plus(call.name, instant_of(start), unit, n, *zone));
}

// How many boundaries of the unit lie between.
int64_t difference(int64_t from, int64_t to, TimeUnit unit, int first_day, const TimeZone& zone) {
    const int64_t local_from = zone.local(from);
    const int64_t local_to = zone.local(to);
    if (is_month_unit(unit)) {
        const int64_t size = months_in(unit);
        return divide_down(month_of(local_to), size) - divide_down(month_of(local_from), size);
    }
    if (unit == TimeUnit::week)
        return week_of(local_to, first_day) - week_of(local_from, first_day);
    if (unit == TimeUnit::day) return day_of(local_to) - day_of(local_from);
    const int64_t size = milliseconds_in(unit);
    // Minutes and hours begin where the clocks of the zone show them, at either end.
    const int64_t shift_from = unit == TimeUnit::hour ? zone.offset_at(from) : 0;
    const int64_t shift_to = unit == TimeUnit::hour ? shift_from : 0;
    int64_t ms = 0;
    if (size == 1 && __builtin_sub_overflow(to, from, &ms))
        base::fail(base::kOverflow, "$dateDiff is out of range");
    return divide_down(to + shift_to, size) - divide_down(from + shift_from, size);
}

enum DiffOperand { kFrom, kTo, kDiffUnit, kDiffZone, kDiffFirstDay };
constexpr NamedOperand kDiff[] = {
    {"startDate", 5166305}, {"endDate", 5166303}, {"unit", 5166304}, {"timezone"}, {"startOfWeek"}};

Value date_diff(const Call& call, Values v) {
    const ZonePtr zone = zone_operand(call, v, kDiffZone);
    if (zone == nullptr || is_nullish(v[kFrom]) || is_nullish(v[kTo]) || is_nullish(v[kDiffUnit]))
        return null_value();
    const TimeUnit unit = unit_of(v[kDiffUnit], call.name, 5439013);
    int first_day = kSunday;
    if (unit == TimeUnit::week && call.has(kDiffFirstDay)) {
        if (is_nullish(v[kDiffFirstDay])) return null_value();
        first_day = week_day_of(v[kDiffFirstDay], call.name, 5439015);
    }
    const int64_t from = instant_of(date_operand(v[kFrom], call.name, "startDate", 5166307));
    const int64_t to = instant_of(date_operand(v[kTo], call.name, "endDate", 5166307));
    return make_long(call.arena, difference(from, to, unit, first_day, *zone));
}

int64_t instant_of_day(const TimeZone& zone, int64_t day) {
    constexpr int64_t kDaysMax = std::numeric_limits<int64_t>::max() / kDayMs - 2;
    if (day < -kDaysMax || day > kDaysMax)
        base::fail(base::kOverflow, "$dateTrunc makes a date that is out of range");
    return zone.instant_of(day * kDayMs);
}

// Bins are counted from 2000-01-01, of weeks from the first one that begins then or later.
int64_t truncated(int64_t ms, TimeUnit unit, int64_t size, int first_day, const TimeZone& zone) {
    constexpr int64_t kFirstMonth = int64_t{2000} * 12;
    const int64_t first = days_of_date(2000, 1, 1) * kDayMs;
    const int64_t local = zone.local(ms);
    const auto down = [size](int64_t value, int64_t from) {
        return from + divide_down(value - from, size) * size;
    };
    if (is_month_unit(unit)) {
        size *= months_in(unit);
        const int64_t month = kFirstMonth + divide_down(month_of(local) - kFirstMonth, size) * size;
        return instant_of_day(zone, first_of_month(month));
    }
    if (unit == TimeUnit::week) {
        const int64_t first_week = week_of(first + (kDaysPerWeek - 1) * kDayMs, first_day);
        const int64_t week = down(week_of(local, first_day), first_week);
        return instant_of_day(zone, day_of_week_number(week, first_day));
    }
    if (unit == TimeUnit::day) return instant_of_day(zone, down(day_of(local), day_of(first)));
    // Time that passes, counted from where the clocks of the zone showed the beginning of the year.
    const int64_t begin = zone.instant_of(first);
    const int64_t bin = size * milliseconds_in(unit);
    int64_t since = 0;
    if (__builtin_sub_overflow(ms, begin, &since))
        base::fail(base::kOverflow, "$dateTrunc makes a date that is out of range");
    return begin + divide_down(since, bin) * bin;
}

enum TruncOperand { kDate, kTruncUnit, kBinSize, kTruncZone, kTruncFirstDay };
constexpr NamedOperand kTrunc[] = {
    {"date", 5439009}, {"unit", 5439010}, {"binSize"}, {"timezone"}, {"startOfWeek"}};

Value date_trunc(const Call& call, Values v) {
    const ZonePtr zone = zone_operand(call, v, kTruncZone);
    if (zone == nullptr || is_nullish(v[kDate]) || is_nullish(v[kTruncUnit]) ||
        (call.has(kBinSize) && is_nullish(v[kBinSize])))
        return null_value();
    const TimeUnit unit = unit_of(v[kTruncUnit], call.name, 5439013);
    int first_day = kSunday;
    if (unit == TimeUnit::week && call.has(kTruncFirstDay)) {
        if (is_nullish(v[kTruncFirstDay])) return null_value();
        first_day = week_day_of(v[kTruncFirstDay], call.name, 5439016);
    }
    int64_t size = 1;
    if (call.has(kBinSize)) {
        const Value& given = v[kBinSize];
        size = given.to_int64();
        if (!given.is_number() || given.to_double() != static_cast<double>(size))
            base::fail(5439017, "$dateTrunc requires 'binSize' to be a 64-bit integer, but got {}",
                       bson::name_of(given.type()));
        if (size <= 0)
            base::fail(5439018, "$dateTrunc requires 'binSize' to be greater than 0, but got {}",
                       size);
        // Longer than all time, and far from where an int64 ends.
        constexpr int64_t kBinsMax = 100'000'000'000;
        if (size > kBinsMax)
            base::fail(5439018, "$dateTrunc requires 'binSize' to be at most {}", kBinsMax);
    }
    const int64_t ms = instant_of(date_operand(v[kDate], call.name, "date", 5439012));
    return make_date(call.arena, truncated(ms, unit, size, first_day, *zone));
}

}  // namespace

std::span<const Operator> date_math_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$dateAdd", .by_name = {kAdd, 5166400, 5166401}, .compute = date_add<1>},
        {.name = "$dateSubtract", .by_name = {kAdd, 5166400, 5166401}, .compute = date_add<-1>},
        {.name = "$dateDiff", .by_name = {kDiff, 5166301, 5166302}, .compute = date_diff},
        {.name = "$dateTrunc", .by_name = {kTrunc, 5439007, 5439008}, .compute = date_trunc},
    };
    return kTable;
}

}  // namespace query
