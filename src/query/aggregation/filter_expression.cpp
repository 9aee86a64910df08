#include "query/aggregation/filter_expression.h"

#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

bool is_path(const Value& e) {
    return e.is_string() && e.as_string().starts_with('$') && !e.as_string().starts_with("$$");
}

// Whether a filter has the value under {path: {$eq: value}}, too, and finds there every document
// whose field equals it here. Not so an array, which here may be put together from many documents,
// and what is missing.
bool has_equality(const Value& v) {
    return !v.missing() && v.type() != Type::undefined && !v.is_array();
}

class FilterExpression : public MatchExpression {
  public:
    FilterExpression(const Value& spec, const OuterVariables& variables) {
        Names names(variables, true);
        expression_ = parse_operand(spec, names);
        simplify(expression_);
        scope_.variables.resize(names.slots());
        bson::Builder equalities;
        add_implied(spec, names, equalities);
        implied_ = equalities.object();
    }

    bool matches(bson::Doc doc) const override {
        arena_.clear();
        scope_.set_root(doc);
        return is_true(expression_->evaluate(scope_));
    }
    void append_result(bson::Doc doc, std::string_view name, bson::Builder& out) const override {
        arena_.clear();
        scope_.set_root(doc);
        out.append_as(name, expression_->evaluate(scope_));
    }
    bson::Doc implied() const override { return implied_; }
    void add_needs(Needs& needs) const { expression_->add_needs(needs); }

  private:
    // Of {$eq: ["$path", value]}, in either order, by itself or in an $and.
    void add_implied(const Value& spec, Names& names, bson::Builder& out) {
        if (!spec.is_object()) return;
        sched::tick();
        const Value op = spec.as_doc().first();
        if (!op.is_array()) return;
        if (op.name() == "$and") {
            for (const Value& part : op.as_doc())
                add_implied(part, names, out);
        } else if (op.name() == "$eq") {
            auto operand = op.as_doc().begin();
            const Value first = *operand;
            const Value second = *++operand;
            if (is_path(first)) add_equality(first, second, names, out);
            if (is_path(second)) add_equality(second, first, names, out);
        }
    }

    void add_equality(const Value& path, const Value& spec, Names& names, bson::Builder& out) {
        ExpressionPtr operand = parse_operand(spec, names);
        simplify(operand);
        if (!operand->constant() && dynamic_cast<const OuterVariable*>(operand.get()) == nullptr)
            return;
        const Value v = operand->evaluate(scope_);
        if (has_equality(v)) out.append_as(path.as_string().substr(1), v);
    }

    ExpressionPtr expression_;
    bson::Object implied_;
    // Where matches() computes.
    mutable Arena arena_;
    mutable Scope scope_{arena_};
};

}  // namespace

std::unique_ptr<const MatchExpression> FilterExpressions::parse(const bson::Element& spec) const {
    return std::make_unique<FilterExpression>(spec, variables_);
}

void add_needs(const MatchExpression& expression, Needs& needs) {
    static_cast<const FilterExpression&>(expression).add_needs(needs);
}

}  // namespace query
