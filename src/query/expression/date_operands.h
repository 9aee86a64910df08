// query/expression/date_operands.h - what the operators of dates read of their operands.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "query/expression/operators.h"
#include "query/value/time_zone.h"

namespace query {

using ZonePtr = std::shared_ptr<const TimeZone>;

// Returns the time zone that operand `i` names, UTC if it is not given; null if its value is null.
// Throws base::Error 40517, 40485.
ZonePtr zone_operand(const Call& call, Values v, size_t i);

enum class TimeUnit { year, quarter, month, week, day, hour, minute, second, millisecond };

// Throws base::Error `type_code` for a value that is no text, and 9 for a text that is no unit.
TimeUnit unit_of(const Value& v, std::string_view op, int type_code);
// Returns 1 (Monday) to 7, as ISO 8601 counts. Throws base::Error `type_code` for a value that is
// no text, and 9 for a text that is no day.
int week_day_of(const Value& v, std::string_view op, int type_code);
// Returns an instant so many units later, by the clocks of a zone; the day of a month that has
// fewer days is its last one. Throws base::Error 5166406 for one out of range.
int64_t date_plus(std::string_view op, int64_t ms, TimeUnit unit, int64_t amount,
                  const TimeZone& zone);
// Returns the length of a unit that is always as long, from a day down.
int64_t milliseconds_in(TimeUnit unit);

}  // namespace query
