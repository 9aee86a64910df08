#include "query/stage/window_series.h"

#include <algorithm>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/compare.h"
#include "bson/decimal_number.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "query/stage/window_bounds.h"
#include "query/value/calendar.h"
#include "sched/tick.h"

namespace query {

using bson::DecimalNumber;
using bson::Type;

namespace {

// A number or a date to calculate with, in doubles or, where one is a decimal, in decimals.
template <typename Number>
Number number_of(const Value& v);
template <>
double number_of<double>(const Value& v) {
    return v.type() == Type::date ? static_cast<double>(v.as_date()) : v.to_double();
}
template <>
DecimalNumber number_of<DecimalNumber>(const Value& v) {
    return v.type() == Type::date ? DecimalNumber::of_integer(v.as_date()) : DecimalNumber::of(v);
}
template <typename Number>
Number whole(int64_t v);
template <>
double whole<double>(int64_t v) {
    return static_cast<double>(v);
}
template <>
DecimalNumber whole<DecimalNumber>(int64_t v) {
    return DecimalNumber::of_integer(v);
}
Value value_of(Arena& arena, double v) {
    return make_double(arena, v);
}
Value value_of(Arena& arena, const DecimalNumber& v) {
    return make_decimal(arena, v);
}

bool is_decimal(const Value& v) {
    return v.type() == Type::decimal128;
}

// A document's place on the axis that its partition is sorted by, and the value there.
struct Point {
    Value x;
    Value y;
};
bool has_decimals(const Point& p) {
    return is_decimal(p.x) || is_decimal(p.y);
}
bool is_same_place(const Point& a, const Point& b) {
    return bson::compare_values(a.x, b.x) == 0;
}

// What functions of points share: their values, and the unit that dates on the axis are counted in.
class OverPoints : public WindowFunction {
  public:
    OverPoints(ExpressionPtr input, std::optional<TimeUnit> unit)
        : input_(std::move(input)), unit_(unit) {}
    void add_needs(Needs& needs) const override { input_->add_needs(needs); }
    void simplify_expressions() override { simplify(input_); }

  protected:
    Point point(const Partition& partition, size_t at) const {
        DCHECK(at < inputs_.size());
        return {partition.sort_values[partition.begin + at], inputs_[at]};
    }
    void collect(const Partition& partition, Scope& scope) {
        inputs_.clear();
        arena_ = Arena();
        collect_inputs(partition, scope, *input_, arena_, inputs_);
    }
    // The milliseconds of a unit; 1 without.
    int64_t unit_size() const {
        constexpr int64_t kDaysPerWeek = 7;
        if (!unit_) return 1;
        return *unit_ == TimeUnit::week ? kDaysPerWeek * kDayMs : milliseconds_in(*unit_);
    }
    void check_axis(const Value& x, std::string_view name, int date_code, int number_code) const {
        if (unit_ && x.type() != Type::date)
            base::fail(date_code, "{} with 'unit' expects the sortBy field to be a Date, not {}",
                       name, bson::name_of(x.type()));
        if (!unit_ && !x.is_number())
            base::fail(number_code,
                       "{} without 'unit' expects the sortBy field to be a number, not {}", name,
                       bson::name_of(x.type()));
    }

    ExpressionPtr input_;
    const std::optional<TimeUnit> unit_;
    sched::Vector<Value> inputs_;
    Arena arena_;
};

// How fast a value changes from the first to the last document of the window.
class Derivative : public OverPoints {
  public:
    Derivative(ExpressionPtr input, std::optional<TimeUnit> unit, WindowBounds bounds)
        : OverPoints(std::move(input), unit), bounds_(std::move(bounds)) {}

    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        collect(partition, scope);
        for (size_t i = 0; i < partition.size(); ++i) {
            const auto [begin, end] = bounds_.window_of(partition, i);
            values.push_back(
                end - begin < 2 ? null_value()
                                : slope(arena, point(partition, begin), point(partition, end - 1)));
        }
    }

  private:
    Value slope(Arena& arena, const Point& from, const Point& to) const {
        for (const Point& p : {from, to}) {
            if (is_nullish(p.x) || is_nullish(p.y)) return null_value();
            check_axis(p.x, "$derivative", 5624900, 5624901);
            if (!p.y.is_number())
                base::fail(5624902, "$derivative expects its input to be a number, not {}",
                           bson::name_of(p.y.type()));
        }
        if (is_same_place(from, to)) return null_value();
        if (has_decimals(from) || has_decimals(to)) return slope<DecimalNumber>(arena, from, to);
        return slope<double>(arena, from, to);
    }
    template <typename Number>
    Value slope(Arena& arena, const Point& from, const Point& to) const {
        const Number change = number_of<Number>(to.y) - number_of<Number>(from.y);
        const Number way = number_of<Number>(to.x) - number_of<Number>(from.x);
        return value_of(arena, change / (way / whole<Number>(unit_size())));
    }

    const WindowBounds bounds_;
};

// The area below the lines from each document of the window to the next one.
class Integral : public OverPoints {
  public:
    Integral(ExpressionPtr input, std::optional<TimeUnit> unit, WindowBounds bounds)
        : OverPoints(std::move(input), unit), bounds_(std::move(bounds)) {}

    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        collect(partition, scope);
        bool decimals = false;
        for (size_t i = 0; i < partition.size(); ++i) {
            const Point p = point(partition, i);
            check_axis(p.x, "$integral", 5423901, 5423902);
            if (!p.y.is_number())
                base::fail(5423900, "$integral expects its input to be a number, not {}",
                           bson::name_of(p.y.type()));
            decimals = decimals || has_decimals(p);
        }
        if (decimals)
            areas<DecimalNumber>(partition, arena, values);
        else
            areas<double>(partition, arena, values);
    }

  private:
    template <typename Number>
    Number area(const Partition& partition, size_t from) const {
        const Point a = point(partition, from);
        const Point b = point(partition, from + 1);
        const Number width = number_of<Number>(b.x) - number_of<Number>(a.x);
        return width * (number_of<Number>(a.y) + number_of<Number>(b.y)) / whole<Number>(2) /
               whole<Number>(unit_size());
    }
    template <typename Number>
    void areas(const Partition& partition, Arena& arena, sched::Vector<Value>& values) const {
        // Windows that only grow go on where the one before them ended.
        size_t summed_from = 0;
        size_t summed = 0;
        Number sum = whole<Number>(0);
        for (size_t i = 0; i < partition.size(); ++i) {
            const auto [begin, end] = bounds_.window_of(partition, i);
            if (begin == end) {
                values.push_back(null_value());
                continue;
            }
            if (begin != summed_from || end - 1 < summed) {
                summed_from = summed = begin;
                sum = whole<Number>(0);
            }
            for (; summed + 1 < end; ++summed) {
                sched::tick();
                sum = sum + area<Number>(partition, summed);
            }
            values.push_back(value_of(arena, sum));
        }
    }

    const WindowBounds bounds_;
};

// An average in which each value counts less the longer it is ago. In decimals, so that thirds do
// not show; a double but where there are decimals.
class MovingAverage : public OverPoints {
  public:
    MovingAverage(ExpressionPtr input, const DecimalNumber& alpha)
        : OverPoints(std::move(input), std::nullopt), alpha_(alpha) {}

    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        collect(partition, scope);
        std::optional<DecimalNumber> average;
        bool decimals = false;
        const DecimalNumber rest = DecimalNumber::of_integer(1) - alpha_;
        for (const Value& v : inputs_) {
            if (!v.is_number()) {
                values.push_back(null_value());
                continue;
            }
            decimals = decimals || is_decimal(v);
            const DecimalNumber now = DecimalNumber::of(v);
            average = average ? now * alpha_ + *average * rest : now;
            const Value result = make_decimal(arena, *average);
            values.push_back(decimals ? result : make_double(arena, result.to_double()));
        }
    }

  private:
    const DecimalNumber alpha_;
};

// The last value that there was.
class CarriedForward : public OverPoints {
  public:
    explicit CarriedForward(ExpressionPtr input) : OverPoints(std::move(input), std::nullopt) {}
    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        collect(partition, scope);
        Value last = null_value();
        for (const Value& v : inputs_) {
            if (!is_nullish(v)) last = copy_value(arena, v);
            values.push_back(last);
        }
    }
};

// Values on the line between those around them; none before the first one and behind the last one.
class LinearFill : public OverPoints {
  public:
    explicit LinearFill(ExpressionPtr input) : OverPoints(std::move(input), std::nullopt) {}
    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        collect(partition, scope);
        std::optional<Point> left;
        for (size_t i = 0; i < partition.size(); ++i) {
            const Point p = point(partition, i);
            check(p, i == 0 ? Value() : point(partition, i - 1).x);
            if (is_nullish(p.y)) continue;
            while (values.size() < i)
                values.push_back(left ? between(arena, *left, p, point(partition, values.size()).x)
                                      : null_value());
            values.push_back(copy_value(arena, p.y));
            left = p;
        }
        while (values.size() < partition.size())
            values.push_back(null_value());
    }

  private:
    static void check(const Point& p, const Value& before) {
        if (!p.x.is_number() && p.x.type() != Type::date)
            base::fail(6050101,
                       "$linearFill expects the sortBy field to be a number or a Date, "
                       "not {}",
                       bson::name_of(p.x.type()));
        if (before && (before.type() == Type::date) != (p.x.type() == Type::date))
            base::fail(6050101,
                       "$linearFill expects numbers or Dates in the sortBy field, not "
                       "both");
        if (before && bson::compare_values(before, p.x) == 0)
            base::fail(6050106, "There can be no repeated values in the sort field of $linearFill");
        if (!is_nullish(p.y) && !p.y.is_number())
            base::fail(6050201, "$linearFill expects numbers, null or missing values, not {}",
                       bson::name_of(p.y.type()));
    }
    static Value between(Arena& arena, const Point& left, const Point& right, const Value& x) {
        if (has_decimals(left) || has_decimals(right) || is_decimal(x))
            return between<DecimalNumber>(arena, left, right, x);
        return between<double>(arena, left, right, x);
    }
    template <typename Number>
    static Value between(Arena& arena, const Point& left, const Point& right, const Value& x) {
        const Number from = number_of<Number>(left.x);
        const Number rise = number_of<Number>(right.y) - number_of<Number>(left.y);
        const Number way = number_of<Number>(right.x) - from;
        return value_of(arena,
                        number_of<Number>(left.y) + (number_of<Number>(x) - from) * rise / way);
    }
};

// The operands of a function, {input: .., unit: ..}.
struct Given {
    ExpressionPtr input;
    Value unit, n, alpha;
};

Given operands_of(const Value& function, std::string_view others, Names& names) {
    const std::string_view name = function.name();
    if (!function.is_object())
        base::fail(base::kFailedToParse, "Argument to {} must be an object", name);
    Given given;
    for (const Value& e : function.as_doc()) {
        if (e.name() == "input")
            given.input = parse_operand(e, names);
        else if (e.name() == "unit" && others == "unit")
            given.unit = e;
        else if (e.name() == "N" && others == "N")
            given.n = e;
        else if (e.name() == "alpha" && others == "N")
            given.alpha = e;
        else
            base::fail(base::kFailedToParse, "{} got an unexpected argument: {}", name, e.name());
    }
    if (given.input == nullptr)
        base::fail(base::kFailedToParse, "{} requires an 'input' expression", name);
    return given;
}

std::optional<TimeUnit> unit_of_axis(const Value& unit, std::string_view name) {
    if (!unit) return std::nullopt;
    const TimeUnit found = unit_of(unit, name, base::kFailedToParse);
    if (found < TimeUnit::week)
        base::fail(base::kFailedToParse,
                   "the 'unit' of {} must be 'week' or smaller: others are not always as long",
                   name);
    return found;
}

DecimalNumber alpha_of(const Given& given) {
    if (given.n.missing() == given.alpha.missing())
        base::fail(base::kFailedToParse,
                   "$expMovingAvg must have exactly one of the arguments 'N' and 'alpha'");
    if (given.n) {
        if (!given.n.is_number() || given.n.to_int64() < 1 ||
            given.n.to_double() != static_cast<double>(given.n.to_int64()))
            base::fail(base::kFailedToParse, "'N' of $expMovingAvg must be an integer above 0: {}",
                       bson::to_text(given.n));
        return DecimalNumber::of_integer(2) /
               (DecimalNumber::of(given.n) + DecimalNumber::of_integer(1));
    }
    if (!given.alpha.is_number() || !(given.alpha.to_double() > 0 && given.alpha.to_double() < 1))
        base::fail(base::kFailedToParse,
                   "'alpha' of $expMovingAvg must be a number between 0 and 1, without both: {}",
                   bson::to_text(given.alpha));
    return DecimalNumber::of(given.alpha);
}

void require_axis(const WindowContext& context, std::string_view name) {
    if (context.sort_by.field_count() != 1)
        base::fail(605001, "{} must be specified with a sortBy of exactly one field", name);
}

}  // namespace

std::unique_ptr<WindowFunction> parse_series_function(const Value& function, const Value& window,
                                                      const WindowContext& context, Names& names) {
    const std::string_view name = function.name();
    if (name == "$derivative" || name == "$integral") {
        Given given = operands_of(function, "unit", names);
        require_axis(context, name);
        const auto unit = unit_of_axis(given.unit, name);
        WindowBounds bounds(window, context);
        if (name == "$integral")
            return std::make_unique<Integral>(std::move(given.input), unit, std::move(bounds));
        if (!window)
            base::fail(base::kFailedToParse, "$derivative requires explicit window bounds");
        return std::make_unique<Derivative>(std::move(given.input), unit, std::move(bounds));
    }
    if (name != "$expMovingAvg" && name != "$locf" && name != "$linearFill") return nullptr;
    if (window) base::fail(5371601, "{} does not accept a 'window' field", name);
    if (name == "$locf") return std::make_unique<CarriedForward>(parse_operand(function, names));
    if (name == "$linearFill") {
        require_axis(context, name);
        return std::make_unique<LinearFill>(parse_operand(function, names));
    }
    Given given = operands_of(function, "N", names);
    if (context.sort_by.empty())
        base::fail(base::kFailedToParse, "$expMovingAvg requires an explicit 'sortBy'");
    return std::make_unique<MovingAverage>(std::move(given.input), alpha_of(given));
}

}  // namespace query
