#include "query/expression/operators.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "dialect/pipelines.h"
#include "sched/tick.h"

namespace query {

namespace {

bool is_taken(Takes takes, const Value& v) {
    switch (takes) {
        case Takes::any:
            return true;
        case Takes::numbers:
            return v.is_number();
        case Takes::integers:
            return v.type() == bson::Type::int32 || v.type() == bson::Type::int64;
        case Takes::strings:
            return v.is_string();
        case Takes::arrays:
            return v.is_array();
        case Takes::objects:
            return v.is_object();
    }
    return false;
}

std::string_view name_of(Takes takes) {
    switch (takes) {
        case Takes::any:
            return "any";
        case Takes::numbers:
            return "numeric types";
        case Takes::integers:
            return "int and long operands";
        case Takes::strings:
            return "strings";
        case Takes::arrays:
            return "arrays";
        case Takes::objects:
            return "objects";
    }
    return "";
}

Value compute_from(const Operator& op, Scope& scope, const Operands& operands, Values values) {
    if (op.null_gives_null && std::ranges::any_of(values, is_nullish)) return null_value();
    for (const Value& v : values) {
        if (!is_taken(op.takes, v))
            base::fail(op.takes_code, "{} only supports {}, not {}", op.name, name_of(op.takes),
                       bson::name_of(v.type()));
    }
    DCHECK(op.compute != nullptr && values.size() == operands.size());
    return op.compute({scope.arena, scope.collator, op.name, operands}, values);
}

Value compute(const Operator& op, Scope& scope, const Operands& operands) {
    if (op.apply != nullptr) return op.apply(scope, operands);
    const auto value_of = [&](const ExpressionPtr& operand) {
        return operand ? operand->evaluate(scope) : Value();
    };
    constexpr size_t kFew = 4;
    if (operands.size() <= kFew) {
        std::array<Value, kFew> few;
        std::ranges::transform(operands, few.begin(), value_of);
        return compute_from(op, scope, operands, {few.data(), operands.size()});
    }
    sched::Vector<Value> many(operands.size());
    std::ranges::transform(operands, many.begin(), value_of);
    return compute_from(op, scope, operands, many);
}

class Operation : public Expression {
  public:
    Operation(const Operator& op, Operands operands, const collation::Collator* collator)
        : op_(op), operands_(std::move(operands)), collator_(collator) {}
    Value evaluate(Scope& scope) const override {
        DCHECK(scope.collator == collator_);
        sched::tick();
        return compute(op_, scope, operands_);
    }
    void add_needs(Needs& needs) const override {
        for (const ExpressionPtr& operand : operands_)
            if (operand) operand->add_needs(needs);
    }
    ExpressionPtr simplified() override;
    const Operator& op() const { return op_; }
    Operands take_operands() { return std::move(operands_); }

  private:
    const Operator& op_;
    Operands operands_;
    const collation::Collator* const collator_;  // of the scopes that it is evaluated in
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

ExpressionPtr computed(const Operator& op, const Operands& constants,
                       const collation::Collator* collator) {
    Arena arena;
    Scope scope(arena, collator);
    return std::make_unique<Constant>(compute(op, scope, constants));
}

bool all_constant(const Operands& operands) {
    return std::all_of(operands.begin(), operands.end(), [](const ExpressionPtr& e) {
        return e == nullptr || e->constant().has_value();
    });
}

// Puts the operands of nested uses of the same operator into one list and the constants at its end,
// combined into one.
Operands regroup(const Operator& op, Operands operands, const collation::Collator* collator) {
    DCHECK(op.regroups);
    std::deque<ExpressionPtr> queue;
    for (ExpressionPtr& e : operands)
        queue.push_back(std::move(e));
    Operands variable;
    Operands constants;
    while (!queue.empty()) {
        sched::tick();
        ExpressionPtr e = std::move(queue.front());
        queue.pop_front();
        auto* nested = dynamic_cast<Operation*>(e.get());
        if (e->constant()) {
            constants.push_back(std::move(e));
        } else if (nested != nullptr && &nested->op() == &op) {
            for (ExpressionPtr& inner : nested->take_operands())
                queue.push_back(std::move(inner));
        } else {
            variable.push_back(std::move(e));
        }
    }
    if (!constants.empty()) variable.push_back(computed(op, constants, collator));
    return variable;
}

// $and with a constant false, $or with a constant true are decided; other constants drop out.
ExpressionPtr decide(const Operator& op, Operands operands, const collation::Collator* collator) {
    DCHECK(!operands.empty());
    const std::optional<Value> last = operands.back()->constant();
    if (last) {
        const bool deciding = op.name == "$or";
        if (is_true(*last) == deciding) return std::make_unique<Constant>(bool_value(deciding));
        operands.pop_back();
        if (operands.size() == 1) return std::make_unique<Truth>(std::move(operands[0]));
    }
    return std::make_unique<Operation>(op, std::move(operands), collator);
}

ExpressionPtr Operation::simplified() {
    for (ExpressionPtr& operand : operands_)
        if (operand) simplify(operand);
    if (all_constant(operands_)) return computed(op_, operands_, collator_);
    if (op_.regroups) operands_ = regroup(op_, std::move(operands_), collator_);
    if (op_.name == "$and" || op_.name == "$or")
        return decide(op_, std::move(operands_), collator_);
    return nullptr;
}

using Table = std::map<std::string_view, const Operator*>;

Table make_table(dialect::Dialect dialect) {
    Table table;
    for (const auto part :
         {arithmetic_operators(), math_operators(), comparison_operators(), control_operators(),
          string_operators(), text_operators(), regex_operators(), date_operators(),
          date_math_operators(), set_operators(), array_operators(), loop_operators(),
          object_operators(), conversion_operators(), accumulating_operators(), script_operators(),
          refused_operators()}) {
        for (const Operator& op : part) {
            if (op.dialects == (dialect.is_today() ? Dialects::v26 : Dialects::today)) continue;
            DCHECK(op.most == Operator::kAny || op.least <= op.most);
            const bool added = table.emplace(op.name, &op).second;
            DCHECK(added);
            static_cast<void>(added);
        }
    }
    return table;
}

void check_arity(const Operator& op, size_t given) {
    const auto least = static_cast<size_t>(op.least);
    const bool too_many = op.most != Operator::kAny && given > static_cast<size_t>(op.most);
    if (given >= least && !too_many) return;
    if (op.most == Operator::kAny)
        base::fail(op.arity_code, "{} needs at least {} arguments, {} were passed in.", op.name,
                   op.least, given);
    if (op.least == op.most)
        base::fail(op.arity_code, "Expression {} takes exactly {} arguments. {} were passed in.",
                   op.name, op.least, given);
    base::fail(op.arity_code,
               "Expression {} takes at least {} arguments, and at most {}, but {} were passed in.",
               op.name, op.least, op.most, given);
}

bool is_named(const ByName& by_name, const Value& spec) {
    if (by_name.fields.empty()) return false;
    if (!by_name.optional) return true;
    return spec.is_object() && !spec.as_doc().first().name().starts_with('$');
}

}  // namespace

const Operator* find_operator(std::string_view name, dialect::Dialect dialect) {
    static const Table kV26 = make_table(dialect::kV26);
    static const Table kToday = make_table(dialect::kToday);
    const Table& table = dialect.is_today() ? kToday : kV26;
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second;
}

sched::Vector<Value> named_specs(const Operator& op, const Value& spec, const ByName& by_name) {
    if (!spec.is_object())
        base::fail(by_name.not_object_code, "{} only supports an object as an argument, found {}",
                   op.name, bson::name_of(spec.type()));
    sched::Vector<Value> specs(by_name.fields.size());
    for (const Value& e : sched::ticked(spec.as_doc())) {
        const auto field = std::ranges::find(by_name.fields, e.name(), &NamedOperand::name);
        if (field == by_name.fields.end())
            base::fail(by_name.unknown_code, "{} found an unknown argument: {}", op.name, e.name());
        specs[static_cast<size_t>(field - by_name.fields.begin())] = e;
    }
    for (size_t i = 0; i < specs.size(); ++i) {
        const NamedOperand& field = by_name.fields[i];
        if (field.missing_code != 0 && specs[i].missing())
            base::fail(field.missing_code, "Missing '{}' parameter to {}", field.name, op.name);
    }
    return specs;
}

ExpressionPtr make_operation(const Operator& op, Operands operands, const Names& names) {
    DCHECK(op.apply != nullptr || op.compute != nullptr);
    return std::make_unique<Operation>(op, std::move(operands), names.collator.get());
}

ExpressionPtr parse_operands(const Operator& op, const Value& spec, Names& names) {
    Operands operands;
    if (is_named(op.by_name, spec)) {
        for (const Value& e : named_specs(op, spec, op.by_name))
            operands.push_back(e ? parse_operand(e, names) : nullptr);
        return make_operation(op, std::move(operands), names);
    }
    if (spec.is_array()) {
        for (const Value& e : spec.as_doc())
            operands.push_back(parse_operand(e, names));
    } else {
        operands.push_back(parse_operand(spec, names));
    }
    check_arity(op, operands.size());
    if (!op.by_name.fields.empty()) operands.resize(op.by_name.fields.size());
    return make_operation(op, std::move(operands), names);
}

ExpressionPtr parse_operator(std::string_view name, const Value& spec, Names& names) {
    const Operator* const op = find_operator(name, names.dialect);
    if (op == nullptr && names.dialect.has(dialect::kUnknownOperators))
        base::fail(base::kInvalidPipelineOperator, "Unrecognized expression '{}'", name);
    if (op == nullptr) base::fail(15999, "invalid operator '{}'", name);
    return op->parse != nullptr ? op->parse(*op, spec, names) : parse_operands(*op, spec, names);
}

std::span<const Operator> refused_operators() {
    constexpr auto refuse = [](const Operator& op, const Value&, Names&) -> ExpressionPtr {
        base::fail(base::kInvalidPipelineOperator, "{} is not supported by this server", op.name);
    };
    static constexpr Operator kTable[] = {
        {.name = "$accumulator", .parse = refuse},  // of $group alone
        {.name = "$toHashedIndexKey", .parse = refuse},
        {.name = "$encStrStartsWith", .parse = refuse},
    };
    return kTable;
}

}  // namespace query
