// Accumulators of $group as expressions: over the elements of an array, or over several operands.

#include "base/dcheck.h"
#include "base/error.h"
#include "dialect/dialect.h"
#include "query/expression/accumulator_spec.h"
#include "query/expression/operators.h"
#include "query/value/array_writer.h"

namespace query {

namespace {

Value accumulate(const Call& call, Values v) {
    DCHECK(find_accumulator(call.name, dialect::kToday, call.collator));
    const auto accumulator = find_accumulator(call.name, dialect::kToday, call.collator)();
    if (v.size() != 1 || !v[0].is_array()) return accumulated(call.arena, *accumulator, v);
    return accumulated(call.arena, *accumulator, elements_of(v[0]));
}

class PercentileExpression : public Expression {
  public:
    PercentileExpression(AccumulatorMaker maker, ExpressionPtr input)
        : maker_(std::move(maker)), input_(std::move(input)) {}
    Value evaluate(Scope& scope) const override {
        const auto accumulator = maker_();
        const Value v = input_->evaluate(scope);
        if (v.is_array()) return accumulated(scope.arena, *accumulator, elements_of(v));
        return accumulated(scope.arena, *accumulator, {&v, 1});
    }
    void add_needs(Needs& needs) const override { input_->add_needs(needs); }
    ExpressionPtr simplified() override {
        simplify(input_);
        return nullptr;
    }

  private:
    AccumulatorMaker maker_;
    ExpressionPtr input_;
};

ExpressionPtr parse_percentile(const Operator&, const Value& spec, Names& names) {
    DCHECK(find_percentile_accumulator(spec.name()) != nullptr);
    AccumulatorSpec parsed = find_percentile_accumulator(spec.name())(spec, names);
    return std::make_unique<PercentileExpression>(std::move(parsed.maker), std::move(parsed.input));
}

constexpr Operator accumulating(std::string_view name) {
    return {.name = name, .least = 0, .most = Operator::kAny, .compute = accumulate};
}

}  // namespace

std::span<const Operator> accumulating_operators() {
    static constexpr Operator kTable[] = {
        accumulating("$sum"),
        accumulating("$avg"),
        accumulating("$min"),
        accumulating("$max"),
        accumulating("$stdDevPop"),
        accumulating("$stdDevSamp"),
        {.name = "$percentile", .parse = parse_percentile},
        {.name = "$median", .parse = parse_percentile},
    };
    return kTable;
}

}  // namespace query
