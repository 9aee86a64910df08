// The parts of dates.

#include "query/aggregation/calendar.h"
#include "query/aggregation/operators.h"

namespace query {

namespace {

CalendarDate date_operand(Scope& scope, const Operands& operands) {
    return calendar_date(date_of(operands[0]->evaluate(scope)));
}

template <auto Part>
Value part(Scope& scope, const Operands& operands) {
    return make_int(scope.arena, static_cast<int32_t>(date_operand(scope, operands).*Part));
}

}  // namespace

std::vector<ListOperator> date_operators() {
    return {{"$year", 1, false, part<&CalendarDate::year>},
            {"$month", 1, false, part<&CalendarDate::month>},
            {"$week", 1, false, part<&CalendarDate::week>},
            {"$dayOfYear", 1, false, part<&CalendarDate::day_of_year>},
            {"$dayOfMonth", 1, false, part<&CalendarDate::day>},
            {"$dayOfWeek", 1, false, part<&CalendarDate::day_of_week>},
            {"$hour", 1, false, part<&CalendarDate::hour>},
            {"$minute", 1, false, part<&CalendarDate::minute>},
            {"$second", 1, false, part<&CalendarDate::second>},
            {"$millisecond", 1, false, part<&CalendarDate::millisecond>}};
}

}  // namespace query
