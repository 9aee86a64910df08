// The operators that choose and name values, $cond $switch $let $literal, and $rand, which makes
// one.

#include <array>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "query/expression/operators.h"
#include "query/match/random_fraction.h"
#include "query/plan/query.h"
#include "sched/tick.h"

namespace query {

namespace {

Value choose(Scope& scope, const Operands& operands) {
    DCHECK(operands.size() == 3);
    return operands[is_true(operands[0]->evaluate(scope)) ? 1 : 2]->evaluate(scope);
}

ExpressionPtr parse_cond(const Operator& op, const Value& spec, Names& names) {
    if (!spec.is_object()) return parse_operands(op, spec, names);
    Operands operands(3);
    std::array<Value, 3> given;
    constexpr std::string_view kNames[] = {"if", "then", "else"};
    for (const Value& e : spec.as_doc()) {
        const auto field = std::ranges::find(kNames, e.name());
        if (field == std::end(kNames))
            base::fail(17083, "Unrecognized parameter to $cond: {}", e.name());
        given[static_cast<size_t>(field - std::begin(kNames))] = e;
    }
    if (!given[0]) base::fail(17080, "Missing 'if' parameter to $cond");
    if (!given[1]) base::fail(17081, "Missing 'then' parameter to $cond");
    if (!given[2]) base::fail(17082, "Missing 'else' parameter to $cond");
    for (size_t i = 0; i < operands.size(); ++i)
        operands[i] = parse_operand(given[i], names);
    return make_operation(op, std::move(operands), names);
}

// Conditions and what each leads to, in turns; behind them what is left, or null.
Value choose_branch(Scope& scope, const Operands& operands) {
    DCHECK(operands.size() % 2 == 1);
    for (size_t i = 0; i + 1 < operands.size(); i += 2) {
        if (is_true(operands[i]->evaluate(scope))) return operands[i + 1]->evaluate(scope);
    }
    if (operands.back() == nullptr)
        base::fail(40066,
                   "$switch could not find a matching branch for an input, and no default was "
                   "specified.");
    return operands.back()->evaluate(scope);
}

void parse_branch(const Value& spec, Operands& operands, Names& names) {
    if (!spec.is_object())
        base::fail(40062, "$switch expected each branch to be an object, found: {}",
                   bson::name_of(spec.type()));
    Value condition;
    Value then;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "case")
            condition = e;
        else if (e.name() == "then")
            then = e;
        else
            base::fail(40063, "$switch found an unknown argument to a branch: {}", e.name());
    }
    if (!condition) base::fail(40064, "$switch requires each branch have a 'case' expression");
    if (!then) base::fail(40065, "$switch requires each branch have a 'then' expression.");
    operands.push_back(parse_operand(condition, names));
    operands.push_back(parse_operand(then, names));
}

ExpressionPtr parse_switch(const Operator& op, const Value& spec, Names& names) {
    if (!spec.is_object())
        base::fail(40060, "$switch requires an object as an argument, found: {}",
                   bson::name_of(spec.type()));
    Operands operands;
    ExpressionPtr otherwise;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "branches") {
            if (!e.is_array())
                base::fail(40061, "$switch expected an array for 'branches', found: {}",
                           bson::name_of(e.type()));
            for (const Value& branch : e.as_doc())
                parse_branch(branch, operands, names);
        } else if (e.name() == "default") {
            otherwise = parse_operand(e, names);
        } else {
            base::fail(40067, "$switch found an unknown argument: {}", e.name());
        }
    }
    if (operands.empty()) base::fail(40068, "$switch requires at least one branch.");
    operands.push_back(std::move(otherwise));
    return make_operation(op, std::move(operands), names);
}

class Let : public Expression {
  public:
    Let(std::vector<std::pair<size_t, ExpressionPtr>> variables, ExpressionPtr in)
        : variables_(std::move(variables)), in_(std::move(in)) {}

    Value evaluate(Scope& scope) const override {
        std::vector<Value> values;
        for (const auto& [slot, expression] : variables_) {
            values.push_back(expression->evaluate(scope));
        }
        // Only CURRENT can be bound outside, and has to be restored.
        const Scope::Variable current = scope.variables[Scope::kCurrent];
        for (size_t i = 0; i < values.size(); ++i) {
            DCHECK(variables_[i].first < scope.variables.size());
            scope.variables[variables_[i].first] = {values[i]};
        }
        const Value result = in_->evaluate(scope);
        scope.variables[Scope::kCurrent] = current;
        return result;
    }

    void add_needs(Needs& needs) const override {
        for (const auto& [slot, expression] : variables_) {
            expression->add_needs(needs);
            if (slot == Scope::kCurrent) needs.whole_document = true;
        }
        in_->add_needs(needs);
    }

    ExpressionPtr simplified() override {
        for (auto& [slot, expression] : variables_)
            simplify(expression);
        simplify(in_);
        return nullptr;
    }

  private:
    std::vector<std::pair<size_t, ExpressionPtr>> variables_;
    ExpressionPtr in_;
};

ExpressionPtr parse_let(const Operator&, const Value& spec, Names& names) {
    if (!spec.is_object()) base::fail(16874, "$let only supports an object as its argument");
    Value vars;
    Value in;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "vars") {
            vars = e;
        } else if (e.name() == "in") {
            in = e;
        } else {
            base::fail(16875, "Unrecognized parameter to $let: {}", e.name());
        }
    }
    if (!vars) base::fail(16876, "Missing 'vars' parameter to $let");
    if (!in) base::fail(16877, "Missing 'in' parameter to $let");
    if (!vars.is_object() && !vars.is_array())
        base::fail(10065, "invalid parameter: expected an object (vars)");
    std::vector<std::pair<std::string_view, ExpressionPtr>> values;
    for (const Value& e : vars.as_doc())
        values.emplace_back(e.name(), parse_operand(e, names));
    const size_t saved = names.save();
    std::vector<std::pair<size_t, ExpressionPtr>> variables;
    for (auto& [name, value] : values) {
        variables.emplace_back(names.define(name), std::move(value));
    }
    ExpressionPtr body = parse_operand(in, names);
    names.restore(saved);
    return std::make_unique<Let>(std::move(variables), std::move(body));
}

ExpressionPtr parse_literal(const Operator&, const Value& spec, Names&) {
    return std::make_unique<Constant>(spec);
}

// The documents of a pipeline that begins with $text carry their score as a field of the whole
// document; without one it is missing.
ExpressionPtr parse_meta(const Operator&, const Value& spec, Names&) {
    if (!spec.is_string()) base::fail(17307, "$meta only supports String arguments");
    if (spec.as_string() != "textScore") {
        base::fail(17308, "Unsupported argument to $meta: {}", spec.as_string());
    }
    return std::make_unique<FieldExpression>(Scope::kRoot,
                                             std::vector<std::string>{std::string(kScoreField)});
}

// A number from 0 up to 1, another one each time: no constant.
class Random : public Expression {
  public:
    Value evaluate(Scope& scope) const override {
        sched::tick();
        return make_double(scope.arena, random_fraction());
    }
    void add_needs(Needs&) const override {}
};

ExpressionPtr parse_rand(const Operator&, const Value& spec, Names&) {
    const bool is_empty = (spec.is_object() || spec.is_array()) && spec.as_doc().empty();
    if (!is_empty) base::fail(3040501, "$rand does not currently accept arguments");
    return std::make_unique<Random>();
}

}  // namespace

std::span<const Operator> control_operators() {
    static constexpr Operator kTable[] = {
        {.name = "$cond",
         .dialects = Dialects::both,
         .least = 3,
         .most = 3,
         .apply = choose,
         .parse = parse_cond},
        {.name = "$switch", .apply = choose_branch, .parse = parse_switch},
        {.name = "$let", .dialects = Dialects::both, .parse = parse_let},
        {.name = "$literal", .dialects = Dialects::both, .parse = parse_literal},
        {.name = "$const", .dialects = Dialects::both, .parse = parse_literal},
        {.name = "$meta", .dialects = Dialects::both, .parse = parse_meta},
        {.name = "$rand", .parse = parse_rand},
    };
    return kTable;
}

}  // namespace query
