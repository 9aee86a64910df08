#include "query/aggregation/operators.h"

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "sched/tick.h"

namespace query {

namespace {

class ListExpression : public Expression {
  public:
    ListExpression(const ListOperator& op, Operands operands)
        : op_(op), operands_(std::move(operands)) {}
    Value evaluate(Scope& scope) const override {
        sched::tick();
        return op_.apply(scope, operands_);
    }
    void add_needs(Needs& needs) const override {
        for (const ExpressionPtr& operand : operands_)
            operand->add_needs(needs);
    }
    ExpressionPtr simplified() override;
    const ListOperator& op() const { return op_; }
    Operands take_operands() { return std::move(operands_); }

  private:
    const ListOperator& op_;
    Operands operands_;
};

// $and and $or that were reduced to a single operand: still a truth value.
class Truth : public Expression {
  public:
    explicit Truth(ExpressionPtr operand) : operand_(std::move(operand)) {}
    Value evaluate(Scope& scope) const override {
        return bool_value(is_true(operand_->evaluate(scope)));
    }
    void add_needs(Needs& needs) const override { operand_->add_needs(needs); }

  private:
    ExpressionPtr operand_;
};

ExpressionPtr compute(const ListOperator& op, const Operands& constants) {
    Arena arena;
    Scope scope(arena);
    return std::make_unique<Constant>(op.apply(scope, constants));
}

bool all_constant(const Operands& operands) {
    return std::all_of(operands.begin(), operands.end(),
                       [](const ExpressionPtr& e) { return e->constant().has_value(); });
}

// Puts the operands of nested uses of the same operator into one list and the constants at its end,
// combined into one.
Operands regroup(const ListOperator& op, Operands operands) {
    std::deque<ExpressionPtr> queue;
    for (ExpressionPtr& e : operands)
        queue.push_back(std::move(e));
    Operands variable;
    Operands constants;
    while (!queue.empty()) {
        sched::tick();
        ExpressionPtr e = std::move(queue.front());
        queue.pop_front();
        auto* nested = dynamic_cast<ListExpression*>(e.get());
        if (e->constant()) {
            constants.push_back(std::move(e));
        } else if (nested != nullptr && nested->op().name == op.name) {
            for (ExpressionPtr& inner : nested->take_operands())
                queue.push_back(std::move(inner));
        } else {
            variable.push_back(std::move(e));
        }
    }
    if (!constants.empty()) variable.push_back(compute(op, constants));
    return variable;
}

// $and with a constant false, $or with a constant true are decided; other constants drop out.
ExpressionPtr decide(const ListOperator& op, Operands operands) {
    const std::optional<Value> last = operands.back()->constant();
    if (last) {
        const bool deciding = op.name == "$or";
        if (is_true(*last) == deciding) return std::make_unique<Constant>(bool_value(deciding));
        operands.pop_back();
        if (operands.size() == 1) return std::make_unique<Truth>(std::move(operands[0]));
    }
    return std::make_unique<ListExpression>(op, std::move(operands));
}

ExpressionPtr ListExpression::simplified() {
    for (ExpressionPtr& operand : operands_)
        simplify(operand);
    if (all_constant(operands_)) return compute(op_, operands_);
    if (op_.regroups) operands_ = regroup(op_, std::move(operands_));
    if (op_.name == "$and" || op_.name == "$or") return decide(op_, std::move(operands_));
    return nullptr;
}

std::map<std::string_view, ListOperator> make_table() {
    std::map<std::string_view, ListOperator> table;
    for (const auto& part : {arithmetic_operators(), comparison_operators(), string_operators(),
                             date_operators(), set_operators()}) {
        for (const ListOperator& op : part)
            table.emplace(op.name, op);
    }
    return table;
}

}  // namespace

const ListOperator* find_list_operator(std::string_view name) {
    static const std::map<std::string_view, ListOperator> kTable = make_table();
    const auto found = kTable.find(name);
    return found == kTable.end() ? nullptr : &found->second;
}

SpecialParser find_special_operator(std::string_view name) {
    static const std::map<std::string_view, SpecialParser> kTable = {
        {"$cond", parse_cond},       {"$let", parse_let},       {"$map", parse_map},
        {"$literal", parse_literal}, {"$const", parse_literal}, {"$meta", parse_meta}};
    const auto found = kTable.find(name);
    return found == kTable.end() ? nullptr : found->second;
}

ExpressionPtr parse_list_operator(const ListOperator& op, const Value& spec, Names& names) {
    Operands operands;
    if (spec.is_array()) {
        for (const Value& e : spec.as_doc())
            operands.push_back(parse_operand(e, names));
    } else {
        operands.push_back(parse_operand(spec, names));
    }
    if (op.arity != ListOperator::kAny && static_cast<int>(operands.size()) != op.arity) {
        base::fail(16020, "Expression {} takes exactly {} arguments. {} were passed in.", op.name,
                   op.arity, operands.size());
    }
    if (op.arity_error != 0 && operands.size() < 2) {
        base::fail(op.arity_error, "{} needs at least two arguments, {} were passed in.", op.name,
                   operands.size());
    }
    return std::make_unique<ListExpression>(op, std::move(operands));
}

ExpressionPtr parse_operator(std::string_view name, const Value& operands, Names& names) {
    if (const SpecialParser parse = find_special_operator(name)) return parse(operands, names);
    if (const ListOperator* op = find_list_operator(name)) {
        return parse_list_operator(*op, operands, names);
    }
    base::fail(15999, "invalid operator '{}'", name);
}

}  // namespace query
