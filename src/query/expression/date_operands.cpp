#include "query/expression/date_operands.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/value/calendar.h"

namespace query {

ZonePtr zone_operand(const Call& call, Values v, size_t i) {
    static const ZonePtr kUtc = TimeZone::of("UTC");
    if (!call.has(i)) return kUtc;
    DCHECK(i < v.size());
    if (is_nullish(v[i])) return nullptr;
    if (!v[i].is_string())
        base::fail(40517, "timezone must evaluate to a string, found {}",
                   bson::name_of(v[i].type()));
    return TimeZone::of(v[i].as_string());
}

TimeUnit unit_of(const Value& v, std::string_view op, int type_code) {
    if (!v.is_string())
        base::fail(type_code, "{} requires 'unit' to be a string, but got {}", op,
                   bson::name_of(v.type()));
    constexpr std::string_view kNames[] = {"year", "quarter", "month",  "week",       "day",
                                           "hour", "minute",  "second", "millisecond"};
    const auto found = std::ranges::find(kNames, v.as_string());
    if (found == std::end(kNames))
        base::fail(base::kFailedToParse,
                   "{} parameter 'unit' value cannot be recognized as a time "
                   "unit: {}",
                   op, v.as_string());
    return static_cast<TimeUnit>(found - std::begin(kNames));
}

int week_day_of(const Value& v, std::string_view op, int type_code) {
    if (!v.is_string())
        base::fail(type_code, "{} requires 'startOfWeek' to be a string, but got {}", op,
                   bson::name_of(v.type()));
    std::string name(v.as_string());
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::string_view kNames[] = {"monday", "tuesday",  "wednesday", "thursday",
                                           "friday", "saturday", "sunday"};
    for (size_t i = 0; i < std::size(kNames); ++i) {
        if (name == kNames[i] || name == kNames[i].substr(0, 3)) return static_cast<int>(i) + 1;
    }
    base::fail(base::kFailedToParse,
               "{} parameter 'startOfWeek' value cannot be recognized as a day of a week: {}", op,
               v.as_string());
}

int64_t milliseconds_in(TimeUnit unit) {
    DCHECK(unit >= TimeUnit::day);
    switch (unit) {
        case TimeUnit::day:
            return kDayMs;
        case TimeUnit::hour:
            return 3'600'000;
        case TimeUnit::minute:
            return 60'000;
        case TimeUnit::second:
            return 1000;
        default:
            return 1;
    }
}

}  // namespace query
