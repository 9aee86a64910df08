// $firstN $lastN $minN $maxN, and $top $topN $bottom $bottomN, which order by fields: what they ask
// for.

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "dialect/dialect.h"
#include "query/accumulator/top.h"
#include "query/accumulator/top_values.h"
#include "query/expression/accumulator_spec.h"
#include "query/plan/sort.h"

namespace query {

using bson::Type;

namespace {

// The sort key of a document and a value that is computed from it, as an array.
class KeyAndValue : public Expression {
  public:
    KeyAndValue(bson::Doc sort_by, ExpressionPtr output,
                std::shared_ptr<const collation::Collator> collator)
        : pattern_(std::make_shared<const SortPattern>(sort_by, nullptr, std::move(collator),
                                                       dialect::kToday)),
          output_(std::move(output)) {
        DCHECK(!sort_by.empty());
    }
    Value evaluate(Scope& scope) const override {
        const Scope::Variable& root = scope.variables[Scope::kRoot];
        DCHECK(root.doc != nullptr || root.value.is_object());
        bson::Buffer out;
        const size_t start = open_doc(out);
        write_header(out, Type::object, "0");
        pattern_->append_key(root.doc == nullptr ? root.value.as_doc() : bson::Doc(root.doc), out);
        const Value v = output_->evaluate(scope);
        write_value(out, "1", v.missing() ? null_value() : v);
        close_doc(out, start);
        return make_doc(scope.arena, Type::array, bson::Doc(out.data()));
    }
    void add_needs(Needs& needs) const override { needs.whole_document = true; }
    ExpressionPtr simplified() override {
        simplify(output_);
        return nullptr;
    }
    uint32_t descending() const { return pattern_->descending_bits(); }

  private:
    std::shared_ptr<const SortPattern> pattern_;
    ExpressionPtr output_;
};

struct TopOperands {
    Value n, input, sort_by, output;
};

TopOperands operands_of(const Value& op, bool has_n, bool by_fields) {
    if (!op.is_object())
        base::fail(5788001, "specification must be an object; found {}", op.name());
    TopOperands operands;
    for (const Value& e : op.as_doc()) {
        const std::string_view name = e.name();
        if (name == "n" && has_n)
            operands.n = e;
        else if (name == "input" && !by_fields)
            operands.input = e;
        else if (name == "sortBy" && by_fields)
            operands.sort_by = e;
        else if (name == "output" && by_fields)
            operands.output = e;
        else
            base::fail(5788002, "Unknown argument to {} '{}'", op.name(), name);
    }
    if (has_n && !operands.n) base::fail(5788003, "Missing value for 'n' of {}", op.name());
    if (by_fields && !operands.sort_by)
        base::fail(5788005, "Missing value for 'sortBy' of {}", op.name());
    if (by_fields && !operands.output)
        base::fail(5788004, "Missing value for 'output' of {}", op.name());
    if (!by_fields && !operands.input)
        base::fail(5787907, "Missing value for 'input' of {}", op.name());
    return operands;
}

size_t constant_count(const Value& n, std::string_view op, Names& names) {
    ExpressionPtr count = parse_operand(n, names);
    simplify(count);
    const auto constant = count->constant();
    if (!constant)
        base::fail(base::kInvalidPipelineOperator,
                   "{} by an 'n' that depends on the group is not supported by this server", op);
    return static_cast<size_t>(count_of_values(*constant));
}

template <ValueOrder kOrder, bool kLast>
AccumulatorSpec parse_some(const Value& op, Names& names) {
    const TopOperands operands = operands_of(op, true, false);
    const size_t n = constant_count(operands.n, op.name(), names);
    return {values_maker(kOrder, names.collator, {n, kLast, false}),
            parse_operand(operands.input, names)};
}

template <bool kHasCount, bool kLast>
AccumulatorSpec parse_top(const Value& op, Names& names) {
    const TopOperands operands = operands_of(op, kHasCount, true);
    if (!operands.sort_by.is_object())
        base::fail(10065, "invalid parameter: expected an object (sortBy)");
    if (operands.sort_by.as_doc().empty())
        base::fail(2942505, "sortBy of {} must have at least one key", op.name());
    const size_t n = kHasCount ? constant_count(operands.n, op.name(), names) : 1;
    auto input = std::make_unique<KeyAndValue>(
        operands.sort_by.as_doc(), parse_operand(operands.output, names), names.collator);
    AccumulatorMaker maker = keyed_values_maker(input->descending(), {n, kLast, !kHasCount});
    return {std::move(maker), std::move(input)};
}

struct Named {
    std::string_view name;
    AccumulatorParser parse;
};

constexpr Named kTable[] = {
    {"$firstN", parse_some<ValueOrder::as_they_come, false>},
    {"$lastN", parse_some<ValueOrder::as_they_come, true>},
    {"$minN", parse_some<ValueOrder::ascending, false>},
    {"$maxN", parse_some<ValueOrder::descending, false>},
    {"$top", parse_top<false, false>},
    {"$topN", parse_top<true, false>},
    {"$bottom", parse_top<false, true>},
    {"$bottomN", parse_top<true, true>},
};

}  // namespace

AccumulatorParser find_top_accumulator(std::string_view name) {
    const auto* const found = std::ranges::find(kTable, name, &Named::name);
    return found == std::end(kTable) ? nullptr : found->parse;
}

}  // namespace query
