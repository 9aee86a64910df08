#include "query/stage/window_bounds.h"

#include <algorithm>
#include <cmath>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "query/value/exact_sum.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

bool is_text(const Value& v, std::string_view text) {
    return v.is_string() && v.as_string() == text;
}

Value sum_of(Arena& arena, const Value& a, const Value& b) {
    ExactSum sum;
    sum.add(a);
    sum.add(b);
    return sum.value(arena);
}

}  // namespace

WindowBounds::WindowBounds(const Value& window, const WindowContext& context) {
    if (!window) return;
    if (!window.is_object()) base::fail(base::kFailedToParse, "'window' field must be an object");
    Value list;
    for (const Value& e : window.as_doc()) {
        if (e.name() == "unit") {
            unit_ = unit_of(e, "'window'", base::kFailedToParse);
            continue;
        }
        if ((e.name() != "documents" && e.name() != "range") || list)
            base::fail(
                base::kFailedToParse,
                "'window' field can only contain one of 'documents' and 'range', and 'unit'");
        list = e;
    }
    if (!list)
        base::fail(base::kFailedToParse,
                   "'window' field must contain one of 'documents' and 'range'");
    by_range_ = list.name() == "range";
    if (unit_ && !by_range_)
        base::fail(base::kFailedToParse, "'unit' of a window goes with 'range' only");
    read(list, context);
}

void WindowBounds::read(const Value& list, const WindowContext& context) {
    if (!list.is_array() || list.as_doc().field_count() != 2)
        base::fail(base::kFailedToParse, "Window bounds must be a 2-element array: {}",
                   bson::to_text(list));
    auto bound = list.as_doc().begin();
    lower_ = bound_of(*bound);
    ++bound;
    upper_ = bound_of(*bound);
    if (lower_ && upper_ && bson::compare_values(*lower_, *upper_) > 0)
        base::fail(5339900, "Lower bound must not exceed upper bound: {}", bson::to_text(list));
    if (!by_range_ && !is_whole() && context.sort_by.empty())
        base::fail(5339901, "Document-based bounds require a sortBy");
    if (by_range_ &&
        (context.sort_by.field_count() != 1 || context.sort_by.first().to_int64() != 1))
        base::fail(5339902, "Range-based bounds require a sortBy a single, ascending field");
}

std::optional<Value> WindowBounds::bound_of(const Value& v) {
    if (is_text(v, "unbounded")) return std::nullopt;
    if (is_text(v, "current")) return make_int(arena_, 0);
    if (!v.is_number() || std::isnan(v.to_double()))
        base::fail(base::kFailedToParse,
                   "Window bounds must be 'unbounded', 'current', or a number: {}",
                   bson::to_text(v));
    if ((!by_range_ || unit_) && v.to_double() != static_cast<double>(v.to_int32()))
        base::fail(base::kFailedToParse,
                   "Numeric document-based bounds, and those of a unit, must be an integer of 32 "
                   "bits: {}",
                   bson::to_text(v));
    return copy_value(arena_, v);
}

std::pair<size_t, size_t> WindowBounds::places_of(size_t size, size_t at) const {
    const auto place = [&](int64_t from_current) {
        return static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(at) + from_current, 0,
                                                       static_cast<int64_t>(size)));
    };
    const size_t begin = lower_ ? place(lower_->to_int64()) : 0;
    const size_t end = upper_ ? place(upper_->to_int64() + 1) : size;
    return {begin, std::max(begin, end)};
}

// All values of the sort field have to be such that there is a range around them.
const Value& WindowBounds::value_at(const Partition& partition, size_t at) const {
    DCHECK(partition.begin + at < partition.sort_values.size());
    const Value& v = partition.sort_values[partition.begin + at];
    if (unit_ && v.type() != Type::date)
        base::fail(5429413, "Invalid range: Expected the sortBy field to be a Date, but it was {}",
                   bson::name_of(v.type()));
    if (!unit_ && !v.is_number())
        base::fail(5429414,
                   "Invalid range: Expected the sortBy field to be a number, but it was {}; a "
                   "range of dates needs a 'unit'",
                   bson::name_of(v.type()));
    return v;
}

Value WindowBounds::limit(Arena& arena, const Value& current, const Value& bound) const {
    if (!unit_) return sum_of(arena, current, bound);
    return make_date(
        arena, date_plus("a range", current.as_date(), *unit_, bound.to_int64(), TimeZone::utc()));
}

std::pair<size_t, size_t> WindowBounds::range_of(const Partition& partition, size_t at) const {
    DCHECK(at < partition.size() && partition.end <= partition.sort_values.size());
    const auto compared = sched::ticking([&](size_t i, const Value& with) {
        return bson::compare_values(value_at(partition, i), with);
    });
    const Value current = value_at(partition, at);
    Arena arena;
    size_t begin = 0;
    size_t end = partition.size();
    if (lower_) {
        begin = at;
        const Value least = limit(arena, current, *lower_);
        while (begin > 0 && compared(begin - 1, least) >= 0)
            --begin;
        while (begin < end && compared(begin, least) < 0)
            ++begin;
    }
    if (upper_) {
        end = at;
        const Value most = limit(arena, current, *upper_);
        while (end < partition.size() && compared(end, most) <= 0)
            ++end;
        while (end > 0 && compared(end - 1, most) > 0)
            --end;
    }
    return {begin, std::max(begin, end)};
}

void collect_inputs(const Partition& partition, Scope& scope, const Expression& input, Arena& arena,
                    sched::Vector<Value>& inputs) {
    for (size_t i = partition.begin; i < partition.end; ++i) {
        scope.arena.clear();
        scope.set_root(partition.documents[i]);
        inputs.push_back(copy_value(arena, input.evaluate(scope)));
    }
}

}  // namespace query
