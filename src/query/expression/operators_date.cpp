// The parts of dates, dates of parts, dates of texts, texts of dates.

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "query/expression/date_operands.h"
#include "query/expression/operators.h"
#include "query/value/calendar.h"
#include "query/value/date_text.h"

namespace query {

using bson::Type;

namespace {

template <auto Part>
Value old_part(const Call& call, Values v) {
    return make_int(call.arena, static_cast<int32_t>(calendar_date(date_of(v[0])).*Part));
}

constexpr bool is_long(int64_t CalendarDate::*part) {
    return part == &CalendarDate::iso_year;
}
constexpr bool is_long(int CalendarDate::*) {
    return false;
}

template <auto Part>
Value part(const Call& call, Values v) {
    const ZonePtr zone = zone_operand(call, v, 1);
    if (zone == nullptr || is_nullish(v[0])) return null_value();
    const auto number = calendar_date(zone->local(instant_of(v[0]))).*Part;
    return is_long(Part) ? make_long(call.arena, number)
                         : make_int(call.arena, static_cast<int32_t>(number));
}

void append_time(bson::Builder& out, const CalendarDate& d) {
    out.append("hour", d.hour);
    out.append("minute", d.minute);
    out.append("second", d.second);
    out.append("millisecond", d.millisecond);
}

Value date_to_parts(const Call& call, Values v) {
    const ZonePtr zone = zone_operand(call, v, 1);
    if (zone == nullptr || is_nullish(v[0])) return null_value();
    bool iso = false;
    if (call.has(2)) {
        if (is_nullish(v[2])) return null_value();
        if (v[2].type() != Type::boolean)
            base::fail(40521, "iso8601 must evaluate to a bool, found {}",
                       bson::name_of(v[2].type()));
        iso = v[2].as_bool();
    }
    const CalendarDate d = calendar_date(zone->local(instant_of(v[0])));
    bson::Builder out;
    if (iso) {
        out.append("isoWeekYear", static_cast<int32_t>(d.iso_year));
        out.append("isoWeek", d.iso_week);
        out.append("isoDayOfWeek", d.iso_day_of_week);
    } else {
        out.append("year", static_cast<int32_t>(d.year));
        out.append("month", d.month);
        out.append("day", d.day);
    }
    append_time(out, d);
    return make_doc(call.arena, Type::object, out.doc());
}

enum DatePart {
    kYear,
    kMonth,
    kDay,
    kIsoYear,
    kIsoWeek,
    kIsoDay,
    kHour,
    kMinute,
    kSecond,
    kMillisecond,
    kZone
};
constexpr NamedOperand kDateFromParts[] = {
    {"year"}, {"month"},  {"day"},    {"isoWeekYear"}, {"isoWeek"}, {"isoDayOfWeek"},
    {"hour"}, {"minute"}, {"second"}, {"millisecond"}, {"timezone"}};

// A part as a whole number; null parts were looked for before.
int64_t part_operand(const Call& call, Values v, DatePart which, int64_t otherwise) {
    if (!call.has(which)) return otherwise;
    const std::string_view name = kDateFromParts[which].name;
    const Value& value = v[which];
    DCHECK(!is_nullish(value));
    if (!value.is_number() || value.to_double() != static_cast<double>(value.to_int64()))
        base::fail(40515, "'{}' must evaluate to an integer, found {} with value {}", name,
                   bson::name_of(value.type()), bson::to_text(value));
    const int64_t number = value.to_int64();
    if (which == kYear || which == kIsoYear) {
        if (number < 1 || number > 9999)
            base::fail(40523, "'{}' must evaluate to an integer in the range 1 to 9999, found {}",
                       name, number);
        return number;
    }
    constexpr int64_t kPartMax = 32767;
    constexpr int64_t kTimePartMax = int64_t{1} << 53;
    const int64_t most = which == kSecond || which == kMillisecond ? kTimePartMax : kPartMax;
    if (number < -most - 1 || number > most)
        base::fail(31034, "'{}' must evaluate to a value in the range [{}, {}], found {}", name,
                   -most - 1, most, number);
    return number;
}

Value date_from_parts(const Call& call, Values v) {
    for (size_t i = 0; i < v.size(); ++i)
        if (call.has(i) && is_nullish(v[i])) return null_value();
    const ZonePtr zone = zone_operand(call, v, kZone);
    int64_t days = 0;
    if (call.has(kIsoYear)) {
        const int64_t year = part_operand(call, v, kIsoYear, 0);
        const int64_t week = part_operand(call, v, kIsoWeek, 1);
        days = days_of_iso_date(year, week, part_operand(call, v, kIsoDay, 1));
    } else {
        const int64_t year = part_operand(call, v, kYear, 0);
        const int64_t month = part_operand(call, v, kMonth, 1);
        days = days_of_date(year, month, part_operand(call, v, kDay, 1));
    }
    const int64_t hour = part_operand(call, v, kHour, 0);
    const int64_t minute = part_operand(call, v, kMinute, 0);
    const int64_t second = part_operand(call, v, kSecond, 0);
    const int64_t ms = part_operand(call, v, kMillisecond, 0);
    const int64_t time = hour * 3'600'000 + minute * 60'000;
    int64_t local = days * kDayMs + time + ms;
    int64_t in_seconds = 0;
    if (__builtin_mul_overflow(second, int64_t{1000}, &in_seconds) ||
        __builtin_add_overflow(local, in_seconds, &local))
        base::fail(base::kOverflow, "$dateFromParts makes a date that is out of range");
    return make_date(call.arena, zone->instant_of(local));
}

ExpressionPtr parse_date_from_parts(const Operator& op, const Value& spec, Names& names) {
    const auto specs = named_specs(op, spec, op.by_name);
    const bool natural = specs[kYear] || specs[kMonth] || specs[kDay];
    const bool iso = specs[kIsoYear] || specs[kIsoWeek] || specs[kIsoDay];
    if (!specs[kYear] && !specs[kIsoYear])
        base::fail(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
    if (natural && iso)
        base::fail(specs[kYear] ? 40489 : 40525,
                   "$dateFromParts does not allow mixing natural dates with ISO dates");
    return parse_operands(op, spec, names);
}

constexpr std::string_view kIsoFormat = "%Y-%m-%dT%H:%M:%S.%L";
constexpr std::string_view kIsoFormatOfUtc = "%Y-%m-%dT%H:%M:%S.%LZ";

enum WriteOperand { kWrittenDate, kWriteFormat, kWriteZone, kWriteOnNull };

Value date_to_string(Scope& scope, const Operands& operands) {
    const auto value_of = [&](size_t i) {
        return operands[i] ? operands[i]->evaluate(scope) : Value();
    };
    const Value values[] = {value_of(kWrittenDate), value_of(kWriteFormat), value_of(kWriteZone)};
    const Call call{scope.arena, scope.collator, "$dateToString", operands};
    if (call.has(kWriteFormat) && is_nullish(values[kWriteFormat])) return null_value();
    if (call.has(kWriteFormat) && !values[kWriteFormat].is_string())
        base::fail(18533, "$dateToString requires that 'format' be a string, found: {}",
                   bson::name_of(values[kWriteFormat].type()));
    if (call.has(kWriteFormat)) check_format(values[kWriteFormat].as_string(), FormatUse::write);
    const ZonePtr zone = zone_operand(call, values, kWriteZone);
    if (is_nullish(values[kWrittenDate]))
        return operands[kWriteOnNull] ? operands[kWriteOnNull]->evaluate(scope) : null_value();
    if (zone == nullptr) return null_value();
    std::string_view format = zone->is_utc() ? kIsoFormatOfUtc : kIsoFormat;
    if (call.has(kWriteFormat)) format = values[kWriteFormat].as_string();
    return make_string(scope.arena, format_date(instant_of(values[kWrittenDate]), format, *zone));
}

enum ReadOperand { kText, kReadZone, kReadFormat, kReadOnError, kReadOnNull };

Value read_date(const Call& call, Values v) {
    if (!v[kText].is_string())
        base::fail(base::kConversionFailure,
                   "$dateFromString requires that 'dateString' be a string, found: {} with value "
                   "{}",
                   bson::name_of(v[kText].type()), bson::to_text(v[kText]));
    DCHECK(!call.has(kReadFormat) || v[kReadFormat].is_string());
    const ZonePtr zone = zone_operand(call, v, kReadZone);
    const TimeZone* const given = call.has(kReadZone) ? zone.get() : nullptr;
    const std::string_view text = v[kText].as_string();
    return make_date(call.arena, call.has(kReadFormat)
                                     ? parse_date(text, v[kReadFormat].as_string(), given)
                                     : parse_date(text, given));
}

Value date_from_string(Scope& scope, const Operands& operands) {
    const auto value_of = [&](size_t i) {
        return operands[i] ? operands[i]->evaluate(scope) : Value();
    };
    const Value values[] = {value_of(kText), value_of(kReadZone), value_of(kReadFormat)};
    const Call call{scope.arena, scope.collator, "$dateFromString", operands};
    if (is_nullish(values[kText]))
        return operands[kReadOnNull] ? operands[kReadOnNull]->evaluate(scope) : null_value();
    if (call.has(kReadFormat)) {
        const Value& format = values[kReadFormat];
        if (is_nullish(format)) return null_value();
        if (!format.is_string())
            base::fail(40684, "$dateFromString requires that 'format' be a string, found: {}",
                       bson::name_of(format.type()));
        check_format(format.as_string(), FormatUse::read);
    }
    if (zone_operand(call, values, kReadZone) == nullptr) return null_value();
    try {
        return read_date(call, values);
    } catch (const base::Error& e) {
        if (e.code() != base::kConversionFailure || operands[kReadOnError] == nullptr) throw;
    }
    return operands[kReadOnError]->evaluate(scope);
}

constexpr NamedOperand kPart[] = {{"date", 40539}, {"timezone"}};
constexpr NamedOperand kToParts[] = {{"date", 40522}, {"timezone"}, {"iso8601"}};
constexpr NamedOperand kToString[] = {{"date", 18628}, {"format"}, {"timezone"}, {"onNull"}};
constexpr NamedOperand kFromString[] = {
    {"dateString", 40542}, {"timezone"}, {"format"}, {"onError"}, {"onNull"}};

constexpr Operator old_part_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name, .dialects = Dialects::v26, .compute = compute};
}

constexpr Operator part_operator(std::string_view name, Operator::Compute compute) {
    return {.name = name,
            .arity_code = 40536,
            .by_name = {kPart, 40535, 40535, true},
            .compute = compute};
}

Value timestamp_seconds(const Call& call, Values v) {
    if (v[0].type() != Type::timestamp)
        base::fail(5687301, "Argument to $tsSecond must be a timestamp, but is {}",
                   bson::name_of(v[0].type()));
    return make_long(call.arena, static_cast<int64_t>(v[0].as_timestamp() >> 32));
}

Value timestamp_increment(const Call& call, Values v) {
    if (v[0].type() != Type::timestamp)
        base::fail(5687302, "Argument to $tsIncrement must be a timestamp, but is {}",
                   bson::name_of(v[0].type()));
    return make_long(call.arena, static_cast<int64_t>(v[0].as_timestamp() & 0xffffffff));
}

}  // namespace

std::span<const Operator> date_operators() {
    static constexpr Operator kTable[] = {
        old_part_operator("$year", old_part<&CalendarDate::year>),
        old_part_operator("$month", old_part<&CalendarDate::month>),
        old_part_operator("$week", old_part<&CalendarDate::week>),
        old_part_operator("$dayOfYear", old_part<&CalendarDate::day_of_year>),
        old_part_operator("$dayOfMonth", old_part<&CalendarDate::day>),
        old_part_operator("$dayOfWeek", old_part<&CalendarDate::day_of_week>),
        old_part_operator("$hour", old_part<&CalendarDate::hour>),
        old_part_operator("$minute", old_part<&CalendarDate::minute>),
        old_part_operator("$second", old_part<&CalendarDate::second>),
        old_part_operator("$millisecond", old_part<&CalendarDate::millisecond>),
        part_operator("$year", part<&CalendarDate::year>),
        part_operator("$month", part<&CalendarDate::month>),
        part_operator("$week", part<&CalendarDate::week>),
        part_operator("$dayOfYear", part<&CalendarDate::day_of_year>),
        part_operator("$dayOfMonth", part<&CalendarDate::day>),
        part_operator("$dayOfWeek", part<&CalendarDate::day_of_week>),
        part_operator("$hour", part<&CalendarDate::hour>),
        part_operator("$minute", part<&CalendarDate::minute>),
        part_operator("$second", part<&CalendarDate::second>),
        part_operator("$millisecond", part<&CalendarDate::millisecond>),
        part_operator("$isoWeek", part<&CalendarDate::iso_week>),
        part_operator("$isoWeekYear", part<&CalendarDate::iso_year>),
        part_operator("$isoDayOfWeek", part<&CalendarDate::iso_day_of_week>),
        {.name = "$dateToParts", .by_name = {kToParts, 40524, 40520}, .compute = date_to_parts},
        {.name = "$dateFromParts",
         .by_name = {kDateFromParts, 40519, 40518},
         .compute = date_from_parts,
         .parse = parse_date_from_parts},
        {.name = "$dateToString", .by_name = {kToString, 18629, 18534}, .apply = date_to_string},
        {.name = "$dateFromString",
         .by_name = {kFromString, 40540, 40541},
         .apply = date_from_string},
        {.name = "$tsSecond", .null_gives_null = true, .compute = timestamp_seconds},
        {.name = "$tsIncrement", .null_gives_null = true, .compute = timestamp_increment},
    };
    return kTable;
}

}  // namespace query
