#include "query/stage/window_function.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/json.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "query/stage/window_bounds.h"
#include "query/stage/window_series.h"
#include "sched/tick.h"

namespace query {

namespace {

// Accumulates the values that an expression gives for the documents at positions [begin, end).
class Accumulating : public WindowFunction {
  public:
    Accumulating(AccumulatorSpec spec, WindowBounds bounds, bool may_go_on)
        : spec_(std::move(spec)), bounds_(std::move(bounds)), may_go_on_(may_go_on) {}

    void compute(const Partition& partition, Scope& scope, Arena& arena,
                 sched::Vector<Value>& values) override {
        DCHECK(inputs_.empty() && partition.begin < partition.end);
        collect_inputs(partition, scope, *spec_.input, input_arena_, inputs_);
        if (bounds_.is_whole()) {
            const Value all = result(arena, *accumulator_over(0, partition.size()));
            values.insert(values.end(), partition.size(), all);
        } else if (bounds_.begins_with_partition() && may_go_on_) {
            go_on(partition, arena, values);
        } else {
            for (const size_t i : sched::rounds<size_t>(0, partition.size())) {
                const auto [begin, end] = bounds_.window_of(partition, i);
                values.push_back(result(arena, *accumulator_over(begin, end)));
            }
        }
        inputs_.clear();
        input_arena_ = Arena();
    }
    void add_needs(Needs& needs) const override { spec_.input->add_needs(needs); }
    void simplify_expressions() override { simplify(spec_.input); }

  private:
    std::unique_ptr<Accumulator> accumulator_over(size_t begin, size_t end) const {
        DCHECK(begin <= end && end <= inputs_.size());
        auto accumulator = spec_.maker();
        for (const size_t i : sched::rounds<size_t>(begin, end)) {
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
        for (const size_t i : sched::rounds<size_t>(0, partition.size())) {
            for (const size_t end = bounds_.window_of(partition, i).second; taken < end; ++taken)
                accumulator->add(inputs_[taken]);
            values.push_back(result(arena, *accumulator));
        }
    }

    AccumulatorSpec spec_;
    const WindowBounds bounds_;
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
        for (const size_t i : sched::rounds<size_t>(0, partition.size())) {
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
        for (const int64_t i : sched::rounds<int64_t>(0, size)) {
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

constexpr std::string_view kRefused[] = {"$covariancePop", "$covarianceSamp", "$minMaxScaler"};

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
    if (auto series = parse_series_function(function, window, context, names)) return series;
    const bool is_accumulator = find_accumulator(name, dialect::kToday, nullptr) ||
                                find_top_accumulator(name) || find_percentile_accumulator(name) ||
                                name == "$count";
    if (!is_accumulator) base::fail(base::kFailedToParse, "Unrecognized window function, {}", name);
    WindowBounds bounds(window, context);
    const bool may_go_on = name != "$push";  // which gives its memory away with its result
    return std::make_unique<Accumulating>(parse_accumulator(function, names), std::move(bounds),
                                          may_go_on);
}

}  // namespace query
