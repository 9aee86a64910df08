#include "query/stage/window_function.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

// The bounds of a window: from a document to another one, counted from the current one, or to the
// end of the partition.
struct Bounds {
    bool by_range = false;
    std::optional<double> lower;  // none: all that come before
    std::optional<double> upper;

    bool is_whole() const { return !lower && !upper; }
};

std::optional<double> bound_of(const Value& v, bool whole_numbers) {
    if (v.is_string() && v.as_string() == "unbounded") return std::nullopt;
    if (v.is_string() && v.as_string() == "current") return 0;
    if (!v.is_number() || v.type() == Type::decimal128 || std::isnan(v.to_double()))
        base::fail(base::kFailedToParse,
                   "Window bounds must be 'unbounded', 'current', or a number: {}",
                   bson::to_text(v));
    if (whole_numbers && v.to_double() != static_cast<double>(v.to_int32()))
        base::fail(base::kFailedToParse,
                   "Numeric document-based bounds must be an integer of 32 bits: {}",
                   bson::to_text(v));
    return v.to_double();
}

Bounds bounds_of(const Value& window, const WindowContext& context) {
    Bounds bounds;
    if (!window) return bounds;
    if (!window.is_object()) base::fail(base::kFailedToParse, "'window' field must be an object");
    Value list;
    for (const Value& e : window.as_doc()) {
        if (e.name() == "unit")
            base::fail(base::kInvalidPipelineOperator,
                       "'window' by a 'unit' of time is not supported by this server");
        if ((e.name() != "documents" && e.name() != "range") || list)
            base::fail(base::kFailedToParse,
                       "'window' field can only contain one of 'documents' and 'range'");
        list = e;
    }
    if (!list)
        base::fail(base::kFailedToParse,
                   "'window' field must contain one of 'documents' and 'range'");
    bounds.by_range = list.name() == "range";
    if (!list.is_array() || list.as_doc().field_count() != 2)
        base::fail(base::kFailedToParse, "Window bounds must be a 2-element array: {}",
                   bson::to_text(list));
    auto bound = list.as_doc().begin();
    const bool lower_bounded = !(bound->is_string() && bound->as_string() == "unbounded");
    bounds.lower = bound_of(*bound, !bounds.by_range);
    ++bound;
    const bool upper_bounded = !(bound->is_string() && bound->as_string() == "unbounded");
    bounds.upper = bound_of(*bound, !bounds.by_range);
    if (lower_bounded && upper_bounded && *bounds.lower > *bounds.upper)
        base::fail(5339900, "Lower bound must not exceed upper bound: {}", bson::to_text(list));
    const bool is_sorted = !context.sort_by.empty();
    if (!bounds.by_range && !bounds.is_whole() && !is_sorted)
        base::fail(5339901, "Document-based bounds require a sortBy");
    if (bounds.by_range &&
        (context.sort_by.field_count() != 1 || context.sort_by.first().to_int64() != 1))
        base::fail(5339902, "Range-based bounds require a sortBy a single, ascending field");
    return bounds;
}

// Accumulates the values that an expression gives for the documents at positions [begin, end).
class Accumulating : public WindowFunction {
  public:
    Accumulating(AccumulatorSpec spec, const Bounds& bounds, bool may_go_on)
        : spec_(std::move(spec)), bounds_(bounds), may_go_on_(may_go_on) {
        DCHECK(!bounds_.lower || !bounds_.upper || *bounds_.lower <= *bounds_.upper);
    }

    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        DCHECK(inputs_.empty() && partition.begin < partition.end);
        collect(partition, scope);
        if (bounds_.is_whole()) {
            const Value all = result(arena, *accumulator_over(0, partition.size()));
            values.insert(values.end(), partition.size(), all);
        } else if (!bounds_.lower && may_go_on_) {
            go_on(partition, arena, values);
        } else {
            for (size_t i = 0; i < partition.size(); ++i) {
                sched::tick();
                const auto [begin, end] = window_of(partition, i);
                values.push_back(result(arena, *accumulator_over(begin, end)));
            }
        }
        inputs_.clear();
        input_arena_ = Arena();
    }
    void add_needs(Needs& needs) const override { spec_.input->add_needs(needs); }
    void simplify_expressions() override { simplify(spec_.input); }

  private:
    void collect(const Partition& partition, Scope& scope) {
        for (size_t i = partition.begin; i < partition.end; ++i) {
            sched::tick();
            scope.arena.clear();
            scope.set_root(partition.documents[i]);
            inputs_.push_back(copy_value(input_arena_, spec_.input->evaluate(scope)));
        }
    }

    std::unique_ptr<Accumulator> accumulator_over(size_t begin, size_t end) const {
        DCHECK(begin <= end && end <= inputs_.size());
        auto accumulator = spec_.maker();
        for (size_t i = begin; i < end; ++i) {
            sched::tick();
            accumulator->add(inputs_[i]);
        }
        return accumulator;
    }
    static Value result(Arena& arena, Accumulator& accumulator) {
        return accumulated(arena, accumulator, {});
    }

    // Windows that only grow: each goes on where the one before it ended.
    void go_on(const Partition& partition, Arena& arena, sched::Vector<Value>& values) const {
        const auto accumulator = spec_.maker();
        size_t taken = 0;
        for (size_t i = 0; i < partition.size(); ++i) {
            sched::tick();
            for (const size_t end = window_of(partition, i).second; taken < end; ++taken)
                accumulator->add(inputs_[taken]);
            values.push_back(result(arena, *accumulator));
        }
    }

    std::pair<size_t, size_t> window_of(const Partition& partition, size_t at) const {
        return bounds_.by_range ? range_of(partition, at) : places_of(partition.size(), at);
    }

    std::pair<size_t, size_t> places_of(size_t size, size_t at) const {
        const auto place = [&](double from_current) {
            const double to = static_cast<double>(at) + from_current;
            return static_cast<size_t>(std::clamp(to, 0.0, static_cast<double>(size)));
        };
        const size_t begin = bounds_.lower ? place(*bounds_.lower) : 0;
        const size_t end = bounds_.upper ? place(*bounds_.upper + 1) : size;
        return {begin, std::max(begin, end)};
    }

    // Returns the positions whose values of the sort field are in the range; all of these are
    // numbers.
    std::pair<size_t, size_t> range_of(const Partition& partition, size_t at) const {
        DCHECK(at < partition.size() && partition.end <= partition.sort_values.size());
        const auto value = [&](size_t i) {
            const Value& v = partition.sort_values[partition.begin + i];
            if (!v.is_number())
                base::fail(5429414,
                           "Invalid range: Expected the sortBy field to be a number, but it was {}",
                           bson::name_of(v.type()));
            return v.to_double();
        };
        const double current = value(at);
        size_t begin = 0;
        size_t end = partition.size();
        if (bounds_.lower) {
            begin = at;
            const double least = current + *bounds_.lower;
            while (begin > 0 && value(begin - 1) >= least) {
                sched::tick();
                --begin;
            }
            while (begin < end && value(begin) < least) {
                sched::tick();
                ++begin;
            }
        }
        if (bounds_.upper) {
            size_t last = at;
            const double most = current + *bounds_.upper;
            while (last < partition.size() && value(last) <= most) {
                sched::tick();
                ++last;
            }
            while (last > 0 && value(last - 1) > most) {
                sched::tick();
                --last;
            }
            end = last;
        }
        return {begin, std::max(begin, end)};
    }

    AccumulatorSpec spec_;
    const Bounds bounds_;
    const bool may_go_on_;
    // The inputs of the partition.
    sched::Vector<Value> inputs_;
    Arena input_arena_;
};

enum class Rank { rank, dense, number };

template <Rank Kind>
class Ranks : public WindowFunction {
  public:
    void compute(const Partition& partition, Scope&, Arena& arena,
                 sched::Vector<Value>& values) override {
        int64_t rank = 0;
        for (size_t i = 0; i < partition.size(); ++i) {
            sched::tick();
            const bool same = i != 0 && partition.same_as_previous[partition.begin + i];
            if (Kind == Rank::number || !same)
                rank = Kind == Rank::rank ? static_cast<int64_t>(i) + 1 : rank + 1;
            values.push_back(make_int_or_long(arena, rank));
        }
    }
    void add_needs(Needs&) const override {}
};

// The value of a document before or behind the current one.
class Shift : public WindowFunction {
  public:
    Shift(ExpressionPtr output, int64_t by, const Value& otherwise)
        : output_(std::move(output)), by_(by), otherwise_(copy_value(constants_, otherwise)) {}
    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        const auto size = static_cast<int64_t>(partition.size());
        for (int64_t i = 0; i < size; ++i) {
            sched::tick();
            const int64_t from = i + by_;
            if (from < 0 || from >= size) {
                values.push_back(otherwise_);
                continue;
            }
            scope.arena.clear();
            scope.set_root(partition.documents[partition.begin + static_cast<size_t>(from)]);
            const Value v = output_->evaluate(scope);
            values.push_back(copy_value(arena, v.missing() ? null_value() : v));
        }
    }
    void add_needs(Needs& needs) const override { output_->add_needs(needs); }
    void simplify_expressions() override { simplify(output_); }

  private:
    Arena constants_;
    ExpressionPtr output_;
    const int64_t by_;
    const Value otherwise_;
};

std::unique_ptr<WindowFunction> parse_shift(const Value& spec, const WindowContext& context,
                                            Names& names) {
    if (!spec.is_object()) base::fail(base::kFailedToParse, "Argument to $shift must be an object");
    Value output;
    Value by;
    Value otherwise;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "output")
            output = e;
        else if (e.name() == "by")
            by = e;
        else if (e.name() == "default")
            otherwise = e;
        else
            base::fail(base::kFailedToParse, "Unknown argument in $shift: {}", e.name());
    }
    if (!output) base::fail(base::kFailedToParse, "$shift requires an 'output' expression.");
    if (!by) base::fail(base::kFailedToParse, "$shift requires 'by' as an integer value.");
    if (context.sort_by.empty()) base::fail(base::kFailedToParse, "'$shift' requires a sortBy");
    if (!by.is_number() || by.to_double() != static_cast<double>(by.to_int32()))
        base::fail(base::kFailedToParse, "'$shift:by' field must be an integer, but found by: {}",
                   bson::to_text(by));
    Arena arena;
    Value constant = null_value();
    if (otherwise) {
        ExpressionPtr expression = parse_operand(otherwise, names);
        simplify(expression);
        if (!expression->constant())
            base::fail(base::kFailedToParse, "'$shift:default' expression must yield a constant");
        constant = copy_value(arena, *expression->constant());
    }
    return std::make_unique<Shift>(parse_operand(output, names), by.to_int64(), constant);
}

std::unique_ptr<WindowFunction> parse_rank(const Value& spec, const WindowContext& context) {
    const std::string_view name = spec.name();
    if (!spec.is_object() || !spec.as_doc().empty())
        base::fail(5371603, "{} must be specified with '{{}}' as the value", name);
    if (context.sort_by.empty())
        base::fail(5371602, "{} must be specified with a top level sortBy expression", name);
    if (name == "$documentNumber") return std::make_unique<Ranks<Rank::number>>();
    // One field alone tells which documents are equal.
    if (context.sort_by.field_count() != 1)
        base::fail(5371602,
                   "{} must be specified with a top level sortBy expression with exactly "
                   "one element",
                   name);
    if (name == "$rank") return std::make_unique<Ranks<Rank::rank>>();
    return std::make_unique<Ranks<Rank::dense>>();
}

constexpr std::string_view kRefused[] = {"$covariancePop", "$covarianceSamp", "$derivative",
                                         "$expMovingAvg",  "$integral",       "$linearFill",
                                         "$locf",          "$minMaxScaler"};

}  // namespace

std::unique_ptr<WindowFunction> parse_window_function(const Value& spec,
                                                      const WindowContext& context, Names& names) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse,
                   "The field '{}' must be an object that names a window function", spec.name());
    Value function;
    Value window;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "window") {
            window = e;
        } else if (e.name().starts_with('$') && !function) {
            function = e;
        } else {
            base::fail(base::kFailedToParse, "Window function found an unknown argument: {}",
                       e.name());
        }
    }
    if (!function)
        base::fail(base::kFailedToParse, "Expected a $-prefixed window function, for '{}'",
                   spec.name());
    const std::string_view name = function.name();
    if (std::ranges::find(kRefused, name) != std::end(kRefused))
        base::fail(base::kInvalidPipelineOperator,
                   "the window function {} is not supported by this server", name);
    const bool ranks = name == "$rank" || name == "$denseRank" || name == "$documentNumber";
    if ((ranks || name == "$shift") && window)
        base::fail(5371601, "{} does not accept a 'window' field", name);
    if (ranks) return parse_rank(function, context);
    if (name == "$shift") return parse_shift(function, context, names);
    const bool is_accumulator = find_accumulator(name, dialect::kToday, nullptr) ||
                                find_top_accumulator(name) || find_percentile_accumulator(name) ||
                                name == "$count";
    if (!is_accumulator) base::fail(base::kFailedToParse, "Unrecognized window function, {}", name);
    const Bounds bounds = bounds_of(window, context);
    const bool may_go_on = name != "$push";  // which gives its memory away with its result
    return std::make_unique<Accumulating>(parse_accumulator(function, names), bounds, may_go_on);
}

}  // namespace query
