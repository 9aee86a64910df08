#include "query/expression/filter_expression.h"

#include <map>

#include "base/dcheck.h"
#include "dialect/dialect.h"
#include "query/expression/expression.h"
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

// Whether a value of this type is ordered among others here as it is by the keys of an index.
bool has_order(const Value& v) {
    switch (v.type()) {
        case Type::number_double:
        case Type::int32:
        case Type::int64:
        case Type::string:
        case Type::object_id:
        case Type::boolean:
        case Type::date:
            return true;
        default:
            return false;
    }
}

// Returns the comparison with its sides exchanged; empty if `op` is none that gives a range.
std::string_view exchanged(std::string_view op) {
    if (op == "$lt") return "$gt";
    if (op == "$lte") return "$gte";
    if (op == "$gt") return "$lt";
    if (op == "$gte") return "$lte";
    return {};
}

// Whether no array is on that side of `v`.
bool excludes_arrays(std::string_view op, const Value& v) {
    DCHECK(!exchanged(op).empty());
    const bool above = bson::canonical_class(v.type()) > bson::canonical_class(Type::array);
    return op.starts_with("$gt") == above;
}

// The facts about one field that comparisons give.
struct Known {
    bool no_array = false;
    std::vector<std::pair<std::string_view, Value>> ends;  // operator, value
};

class FilterExpression : public MatchExpression {
  public:
    FilterExpression(const Value& spec, const OuterVariables& variables,
                     std::shared_ptr<const LetVariables> let,
                     std::shared_ptr<const collation::Collator> collator)
        : let_(std::move(let)), collator_(std::move(collator)) {
        Names names(variables, dialect::kToday, collator_);
        expression_ = parse_operand(spec, names);
        runs_scripts_ = names.has_scripts;
        simplify(expression_);
        scope_.prepare(names);
        bson::Builder equalities;
        std::map<std::string_view, Known> known;
        add_implied(spec, names, equalities, known);
        implied_ = equalities.object();
        // Whether there are arrays no index tells: one of one element is as that element there.
        bson::Builder ranges;
        for (const auto& [path, field] : known) {
            if (!field.no_array || field.ends.empty()) continue;
            bson::Builder range = ranges.sub_object(path);
            for (const auto& [op, value] : field.ends)
                range.append_as(op, value);
        }
        implied_ranges_ = ranges.object();
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
    bson::Doc implied_ranges() const override { return implied_ranges_; }
    bool runs_scripts() const override { return runs_scripts_; }
    void add_needs(Needs& needs) const { expression_->add_needs(needs); }

  private:
    // Adds the facts that follow from {$eq: ["$path", value]} and other comparisons, in either
    // order, by themselves or in an $and.
    void add_implied(const Value& spec, Names& names, bson::Builder& equalities,
                     std::map<std::string_view, Known>& known) {
        if (!spec.is_object()) return;
        sched::tick();
        const Value op = spec.as_doc().first();
        if (!op.is_array()) return;
        if (op.name() == "$and") {
            for (const Value& part : op.as_doc())
                add_implied(part, names, equalities, known);
            return;
        }
        const bool is_equality = op.name() == "$eq";
        const std::string_view turned = exchanged(op.name());
        if (!is_equality && turned.empty()) return;
        DCHECK(op.as_doc().field_count() == 2);  // parse_operand() has counted them
        auto operand = op.as_doc().begin();
        const Value sides[] = {*operand, *++operand};
        for (const int path_side : {0, 1}) {
            if (!is_path(sides[path_side])) continue;
            const std::string_view path = sides[path_side].as_string().substr(1);
            const Value v = known_value(sides[1 - path_side], names);
            const std::string_view relation = path_side == 0 ? op.name() : turned;
            if (is_equality && has_equality(v)) {
                equalities.append_as(path, v);
                known[path].no_array = true;
            } else if (!is_equality && has_order(v)) {
                Known& field = known[path];
                field.ends.emplace_back(relation, v);
                field.no_array = field.no_array || excludes_arrays(relation, v);
            }
        }
    }

    // Returns a value that depends on no document; missing if it depends on one.
    Value known_value(const Value& spec, Names& names) {
        ExpressionPtr operand = parse_operand(spec, names);
        simplify(operand);
        if (!operand->constant() && dynamic_cast<const OuterVariable*>(operand.get()) == nullptr)
            return {};
        return copy_value(known_, operand->evaluate(scope_));
    }

    const std::shared_ptr<const LetVariables> let_;  // has values of variables
    const std::shared_ptr<const collation::Collator> collator_;
    ExpressionPtr expression_;
    bool runs_scripts_ = false;
    bson::Object implied_;
    bson::Object implied_ranges_;
    Arena known_;
    // The memory in which matches() computes.
    mutable Arena arena_;
    mutable Scope scope_{arena_};
};

}  // namespace

std::unique_ptr<const MatchExpression> FilterExpressions::parse(
    const bson::Element& spec, const std::shared_ptr<const collation::Collator>& collator) const {
    return std::make_unique<FilterExpression>(spec, variables_, let_, collator);
}

void add_needs(const MatchExpression& expression, Needs& needs) {
    DCHECK(dynamic_cast<const FilterExpression*>(&expression) != nullptr);
    static_cast<const FilterExpression&>(expression).add_needs(needs);
}

}  // namespace query
