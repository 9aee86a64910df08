// Comparison and logic: $cmp $eq ... $and $or $not $ifNull $cond $let $map $literal.

#include "base/error.h"
#include "bson/element_writer.h"
#include "query/aggregation/operators.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

int compare_operands(Scope& scope, const Operands& operands) {
    const Value a = operands[0]->evaluate(scope);
    const Value b = operands[1]->evaluate(scope);
    return compare_pipeline_values(a, b);
}

Value cmp(Scope& scope, const Operands& operands) {
    const int c = compare_operands(scope, operands);
    return make_int(scope.arena, c < 0 ? -1 : (c > 0 ? 1 : 0));
}

Value all_true(Scope& scope, const Operands& operands) {
    for (const ExpressionPtr& operand : operands) {
        if (!is_true(operand->evaluate(scope))) return bool_value(false);
    }
    return bool_value(true);
}

Value any_true(Scope& scope, const Operands& operands) {
    for (const ExpressionPtr& operand : operands) {
        if (is_true(operand->evaluate(scope))) return bool_value(true);
    }
    return bool_value(false);
}

Value negate(Scope& scope, const Operands& operands) {
    return bool_value(!is_true(operands[0]->evaluate(scope)));
}

Value if_null(Scope& scope, const Operands& operands) {
    const Value v = operands[0]->evaluate(scope);
    return is_nullish(v) ? operands[1]->evaluate(scope) : v;
}

Value cond(Scope& scope, const Operands& operands) {
    return operands[is_true(operands[0]->evaluate(scope)) ? 1 : 2]->evaluate(scope);
}

constexpr ListOperator kCond = {"$cond", 3, false, cond};

// Lets a list operator be parsed from operands that stand under names.
ExpressionPtr parse_ordered(const ListOperator& op, std::initializer_list<Value> operands,
                            Names& names) {
    bson::Builder list;
    for (const Value& v : operands)
        list.push_element(v);
    bson::Builder holder;
    holder.append_array("", list.doc());
    return parse_list_operator(op, holder.doc().first(), names);
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

class Map : public Expression {
  public:
    Map(size_t slot, ExpressionPtr input, ExpressionPtr in)
        : slot_(slot), input_(std::move(input)), in_(std::move(in)) {}

    Value evaluate(Scope& scope) const override {
        const Value input = input_->evaluate(scope);
        if (is_nullish(input)) return null_value();
        if (!input.is_array()) {
            base::fail(16883, "input to $map must be an Array not {}", type_name(input.type()));
        }
        const Scope::Variable current = scope.variables[Scope::kCurrent];
        bson::Buffer out;
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Value& e : input.as_doc()) {
            sched::tick();
            scope.variables[slot_] = {e};
            const Value v = in_->evaluate(scope);
            write_value(out, bson::IndexName(index++).view(), v.missing() ? null_value() : v);
        }
        close_doc(out, start);
        scope.variables[Scope::kCurrent] = current;
        return make_doc(scope.arena, Type::array, bson::Doc(out.data()));
    }

    void add_needs(Needs& needs) const override {
        input_->add_needs(needs);
        in_->add_needs(needs);
        if (slot_ == Scope::kCurrent) needs.whole_document = true;
    }

    ExpressionPtr simplified() override {
        simplify(input_);
        simplify(in_);
        return nullptr;
    }

  private:
    size_t slot_;
    ExpressionPtr input_;
    ExpressionPtr in_;
};

}  // namespace

ExpressionPtr parse_cond(const Value& spec, Names& names) {
    if (!spec.is_object()) return parse_list_operator(kCond, spec, names);
    Value condition;
    Value yes;
    Value no;
    for (const Value& e : spec.as_doc()) {
        const std::string_view name = e.name();
        if (name == "if") {
            condition = e;
        } else if (name == "then") {
            yes = e;
        } else if (name == "else") {
            no = e;
        } else {
            base::fail(17083, "Unrecognized parameter to $cond: {}", name);
        }
    }
    if (!condition) base::fail(17080, "Missing 'if' parameter to $cond");
    if (!yes) base::fail(17081, "Missing 'then' parameter to $cond");
    if (!no) base::fail(17082, "Missing 'else' parameter to $cond");
    return parse_ordered(kCond, {condition, yes, no}, names);
}

ExpressionPtr parse_let(const Value& spec, Names& names) {
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

ExpressionPtr parse_map(const Value& spec, Names& names) {
    if (!spec.is_object()) base::fail(16878, "$map only supports an object as its argument");
    Value input;
    Value as;
    Value in;
    for (const Value& e : spec.as_doc()) {
        if (e.name() == "input") {
            input = e;
        } else if (e.name() == "as") {
            as = e;
        } else if (e.name() == "in") {
            in = e;
        } else {
            base::fail(16879, "Unrecognized parameter to $map: {}", e.name());
        }
    }
    if (!input) base::fail(16880, "Missing 'input' parameter to $map");
    if (!as) base::fail(16881, "Missing 'as' parameter to $map");
    if (!in) base::fail(16882, "Missing 'in' parameter to $map");
    ExpressionPtr source = parse_operand(input, names);
    const size_t saved = names.save();
    const size_t slot = names.define(as.is_string() ? as.as_string() : std::string_view());
    ExpressionPtr body = parse_operand(in, names);
    names.restore(saved);
    return std::make_unique<Map>(slot, std::move(source), std::move(body));
}

ExpressionPtr parse_literal(const Value& spec, Names&) {
    return std::make_unique<Constant>(spec);
}

// Text scores, the only thing $meta knows, do not exist here: the value is missing.
ExpressionPtr parse_meta(const Value& spec, Names&) {
    if (!spec.is_string()) base::fail(17307, "$meta only supports String arguments");
    if (spec.as_string() != "textScore") {
        base::fail(17308, "Unsupported argument to $meta: {}", spec.as_string());
    }
    return std::make_unique<Constant>(Value());
}

std::vector<ListOperator> comparison_operators() {
    return {{"$cmp", 2, false, cmp},
            {"$eq", 2, false,
             [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) == 0); }},
            {"$ne", 2, false,
             [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) != 0); }},
            {"$gt", 2, false,
             [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) > 0); }},
            {"$gte", 2, false,
             [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) >= 0); }},
            {"$lt", 2, false,
             [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) < 0); }},
            {"$lte", 2, false,
             [](Scope& s, const Operands& o) { return bool_value(compare_operands(s, o) <= 0); }},
            {"$and", ListOperator::kAny, true, all_true},
            {"$or", ListOperator::kAny, true, any_true},
            {"$not", 1, false, negate},
            {"$ifNull", 2, false, if_null}};
}

}  // namespace query
