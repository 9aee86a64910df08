#include "query/plan/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dcheck.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "sched/tick.h"

namespace query {

namespace {

using bson::compare_values;
using bson::Element;
using bson::Type;

struct ConstantHolder {
    bson::Object doc;
    bson::Object shown_doc;
    KeyConstants constants;
    // Ends that explain shows as the old server had them, whose indexes missed what lies between.
    std::vector<std::pair<Element, Element>> shown;

    ConstantHolder() {
        constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        constexpr int64_t kFirstDate = std::numeric_limits<int64_t>::min();
        constexpr uint64_t kLastTimestamp = std::numeric_limits<uint64_t>::max();
        bson::Builder b;
        const bson::ObjectId zero;
        bson::ObjectId ones;
        std::memset(ones.bytes, 0xff, sizeof ones.bytes);
        std::vector<uint8_t> pointer(4 + 1 + 12, 0);
        pointer[0] = 1;
        std::vector<uint8_t> scoped(4 + 4 + 1 + 5, 0);
        scoped[0] = static_cast<uint8_t>(scoped.size());
        scoped[4] = 1;
        scoped[9] = 5;
        b.append_min_key("").append_max_key("").append_null("").append_undefined("");
        b.append_undefined("").append("", kNan).append("", -kInfinity).append("", kInfinity);
        b.append("", kNan).append("", kInfinity);
        b.append("", std::string_view{}).append("", bson::Doc()).append_array("", bson::Doc());
        b.append_binary("", 0, {}).append("", zero).append("", ones);
        b.append("", false).append("", true);
        // Dates and timestamps have one order: dates before 1970 come first, timestamps of 2^31
        // seconds and more last.
        b.append_date("", kFirstDate).append_timestamp("", kLastTimestamp);
        b.append_date("", kFirstDate).append_timestamp("", kLastTimestamp);
        b.append_regex("", "", "").append_code("", "");
        b.bytes(Type::db_pointer, "", pointer).bytes(Type::code_with_scope, "", scoped);
        doc = b.object();
        auto it = doc.begin();
        KeyConstants& k = constants;
        for (Element* e :
             {&k.min_key,          &k.max_key,           &k.null,           &k.undefined,
              &k.nothing,          &k.not_a_number,      &k.minus_infinity, &k.infinity,
              &k.lowest_number,    &k.highest_number,    &k.empty_string,   &k.empty_object,
              &k.empty_array,      &k.empty_binary,      &k.lowest_oid,     &k.highest_oid,
              &k.false_value,      &k.true_value,        &k.lowest_date,    &k.highest_date,
              &k.lowest_timestamp, &k.highest_timestamp, &k.empty_regex,    &k.empty_code,
              &k.lowest_pointer,   &k.empty_scoped_code}) {
            *e = *it;
            ++it;
        }
        DCHECK(it == doc.end());
        show();
    }

    void show() {
        const KeyConstants& k = constants;
        bson::Builder b;
        b.append("", bson::make("$minElement", 1)).append("", bson::make("$maxElement", 1));
        b.append_null("").append("", -std::numeric_limits<double>::infinity());
        b.append("", -std::numeric_limits<double>::max());
        b.append("", std::numeric_limits<double>::max());
        b.append_date("", std::numeric_limits<int64_t>::max()).append_timestamp("", 0);
        b.append_timestamp("", (uint64_t{0x7fffffff} << 32) | 0xffffffff);
        shown_doc = b.object();
        auto as = shown_doc.begin();
        for (const Element& end :
             {k.min_key, k.max_key, k.nothing, k.not_a_number, k.lowest_number, k.highest_number,
              k.highest_date, k.lowest_timestamp, k.highest_timestamp}) {
            shown.emplace_back(end, *as);
            ++as;
        }
        DCHECK(as == shown_doc.end());
    }
};

const ConstantHolder& constant_holder() {
    static const ConstantHolder holder;
    return holder;
}

// Order of lower ends: an inclusive end comes before an exclusive one at the same value.
int compare_low(const Interval& a, const Interval& b) {
    const int c = compare_values(a.low, b.low);
    if (c != 0) return c;
    return static_cast<int>(b.low_inclusive) - static_cast<int>(a.low_inclusive);
}

int compare_high(const Interval& a, const Interval& b) {
    const int c = compare_values(a.high, b.high);
    if (c != 0) return c;
    return static_cast<int>(a.high_inclusive) - static_cast<int>(b.high_inclusive);
}

// Whether it has a place among all other values: no large number, nor what may hold one.
bool has_place(const Element& end) {
    if (is_beyond_doubles(end) || end.type() == Type::code_with_scope) return false;
    return !(end.is_object() || end.is_array()) || end.as_doc().empty();
}

// One end of an interval.
void push_end(bson::Builder& pair, const Element& e) {
    for (const auto& [end, as] : constant_holder().shown) {
        const bool is_limit = end.type() == Type::min_key || end.type() == Type::max_key;
        if (is_limit ? e.type() == end.type() : e.raw() == end.raw())
            return void(pair.push_element(as));
    }
    pair.push_element(e);
}

}  // namespace

const KeyConstants& key_constants() {
    return constant_holder().constants;
}

bool Interval::is_point() const {
    return low_inclusive && high_inclusive && compare_values(low, high) == 0;
}

bool Interval::operator==(const Interval& other) const {
    return compare_low(*this, other) == 0 && compare_high(*this, other) == 0;
}

Interval point(const Element& value) {
    return {value, value, true, true};
}

Interval nothing_there() {
    return {key_constants().nothing, key_constants().null, true, true};
}

Interval all_values() {
    return {key_constants().min_key, key_constants().max_key, true, true};
}

Interval class_range(Type type) {
    const KeyConstants& k = key_constants();
    switch (type) {
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::decimal128:
            return {k.not_a_number, k.infinity, true, true};
        case Type::string:
        case Type::symbol:
            return {k.empty_string, k.empty_object, true, false};
        case Type::object:
            return {k.empty_object, k.empty_array, true, false};
        case Type::array:
            return {k.empty_array, k.empty_binary, true, false};
        case Type::binary:
            return {k.empty_binary, k.lowest_oid, true, false};
        case Type::object_id:
            return {k.lowest_oid, k.highest_oid, true, true};
        case Type::boolean:
            return {k.false_value, k.true_value, true, true};
        case Type::date:
            return {k.lowest_date, k.highest_date, true, true};
        case Type::timestamp:
            return {k.lowest_timestamp, k.highest_timestamp, true, true};
        case Type::regex:
            return {k.empty_regex, k.lowest_pointer, true, false};
        case Type::db_pointer:
            return {k.lowest_pointer, k.empty_code, true, false};
        case Type::code:
            return {k.empty_code, k.empty_scoped_code, true, false};
        case Type::code_with_scope:
            return {k.empty_scoped_code, k.max_key, true, false};
        case Type::null:
            return point(k.null);
        case Type::undefined:
        case Type::eoo:
            return point(k.undefined);
        case Type::min_key:
        case Type::max_key:
            break;
    }
    return all_values();
}

bool is_empty(const Interval& interval) {
    const int c = compare_values(interval.low, interval.high);
    return c > 0 || (c == 0 && !(interval.low_inclusive && interval.high_inclusive));
}

void normalise(IntervalList& list) {
    std::erase_if(list, [](const Interval& i) { return is_empty(i); });
    std::stable_sort(
        list.begin(), list.end(),
        sched::ticking([](const Interval& a, const Interval& b) { return compare_low(a, b) < 0; }));
    IntervalList merged;
    for (const Interval& next : sched::ticked(list)) {
        if (!merged.empty()) {
            Interval& last = merged.back();
            const int c = compare_values(last.high, next.low);
            if (c > 0 || (c == 0 && (last.high_inclusive || next.low_inclusive))) {
                if (compare_high(last, next) < 0) {
                    last.high = next.high;
                    last.high_inclusive = next.high_inclusive;
                }
                continue;
            }
        }
        merged.push_back(next);
    }
    list = std::move(merged);
    DCHECK(are_in_order(list, 1));
}

bool are_in_order(const IntervalList& list, int direction) {
    const auto has_places = [](const Interval& i) { return has_place(i.low) && has_place(i.high); };
    if (!std::ranges::all_of(list, has_places)) return true;
    for (size_t i = 0; i < list.size(); ++i) {
        const Interval& one = list[i];
        const int length = compare_values(one.high, one.low) * direction;
        if (length < 0 || (length == 0 && !(one.low_inclusive && one.high_inclusive))) return false;
        if (i == 0) continue;
        const Interval& before = list[i - 1];
        const int gap = compare_values(one.low, before.high) * direction;
        if (gap < 0 || (gap == 0 && one.low_inclusive && before.high_inclusive)) return false;
    }
    return true;
}

Interval any_number() {
    return {key_constants().lowest_number, key_constants().highest_number, true, true};
}

bool is_beyond_doubles(const Element& value) {
    return (value.type() == Type::decimal128 || value.type() == Type::int64) &&
           bson::is_large_number(value);
}

bool has_long_end(const IntervalList& list) {
    return std::ranges::any_of(list, [](const Interval& interval) {
        return is_beyond_doubles(interval.low) || is_beyond_doubles(interval.high);
    });
}

void round_long_ends(IntervalList& list, int direction, ValueArena& arena) {
    DCHECK(direction == 1 || direction == -1);
    if (!has_long_end(list)) return;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // One double further out: decimals, which keep their exact place, lie between two doubles.
    const auto round = [&](Element& end, bool& inclusive, double outwards) {
        if (!is_beyond_doubles(end)) return;
        end = arena.keep(bson::make("", std::nextafter(end.to_double(), outwards * direction)));
        inclusive = true;
    };
    IntervalList joined;
    for (Interval& next : list) {
        round(next.low, next.low_inclusive, -kInfinity);
        round(next.high, next.high_inclusive, kInfinity);
        const int c =
            joined.empty() ? -1 : compare_values(joined.back().high, next.low) * direction;
        if (c < 0 || (c == 0 && !joined.back().high_inclusive && !next.low_inclusive)) {
            joined.push_back(next);
        } else if (compare_values(joined.back().high, next.high) * direction <= 0) {
            joined.back().high = next.high;
            joined.back().high_inclusive = next.high_inclusive;
        }
    }
    list = std::move(joined);
}

IntervalList intersect(IntervalList a, IntervalList b, ValueArena& arena) {
    DCHECK(are_in_order(a, 1) && are_in_order(b, 1));
    // A value that equals one of each may lie in neither: rounded they meet.
    if (has_long_end(a) || has_long_end(b)) {
        round_long_ends(a, 1, arena);
        round_long_ends(b, 1, arena);
    }
    IntervalList result;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        sched::tick();
        Interval both = compare_low(a[i], b[j]) >= 0 ? a[i] : b[j];
        const bool a_ends_first = compare_high(a[i], b[j]) <= 0;
        const Interval& end = a_ends_first ? a[i] : b[j];
        both.high = end.high;
        both.high_inclusive = end.high_inclusive;
        if (!is_empty(both)) result.push_back(both);
        a_ends_first ? ++i : ++j;
    }
    DCHECK(are_in_order(result, 1));
    return result;
}

IntervalList complement(const IntervalList& a) {
    DCHECK(are_in_order(a, 1));
    IntervalList result;
    Interval gap = all_values();
    for (const Interval& interval : sched::ticked(a)) {
        gap.high = interval.low;
        gap.high_inclusive = !interval.low_inclusive;
        if (!is_empty(gap)) result.push_back(gap);
        gap.low = interval.high;
        gap.low_inclusive = !interval.high_inclusive;
    }
    gap.high = key_constants().max_key;
    gap.high_inclusive = true;
    if (!is_empty(gap)) result.push_back(gap);
    DCHECK(are_in_order(result, 1));
    return result;
}

void orient(IntervalList& list, bool reverse) {
    if (!reverse) return;
    std::reverse(list.begin(), list.end());
    for (Interval& i : list) {
        std::swap(i.low, i.high);
        std::swap(i.low_inclusive, i.high_inclusive);
    }
}

void append_intervals(bson::Builder& out, std::string_view field, const IntervalList& list) {
    bson::Builder outer = out.sub_array(field);
    for (const Interval& interval : sched::ticked(list)) {
        const bson::IndexName name = outer.next();
        bson::Builder pair = outer.sub_array(name.view());
        push_end(pair, interval.low);
        push_end(pair, interval.high);
    }
}

namespace {

std::string end_text(const Element& e) {
    if (e.type() == Type::min_key) return "MinKey";
    if (e.type() == Type::max_key) return "MaxKey";
    bson::Builder shown;
    {
        bson::Builder list = shown.sub_array("");
        push_end(list, e);
    }
    const Element end = shown.doc().first().as_doc().first();
    if (end.type() != Type::number_double || std::isfinite(end.as_double()))
        return bson::to_text(end);
    if (std::isnan(end.as_double())) return "nan.0";
    return end.as_double() < 0 ? "-inf.0" : "inf.0";
}

}  // namespace

void append_interval_texts(bson::Builder& out, std::string_view field, const IntervalList& list) {
    bson::Builder texts = out.sub_array(field);
    for (const Interval& interval : list) {
        texts.append(texts.next().view(),
                     (interval.low_inclusive ? "[" : "(") + end_text(interval.low) + ", " +
                         end_text(interval.high) + (interval.high_inclusive ? "]" : ")"));
    }
}

}  // namespace query
