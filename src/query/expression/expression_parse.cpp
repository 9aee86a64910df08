// Objects and operands of pipelines as written by the user.

#include <algorithm>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/json.h"
#include "dialect/dialect.h"
#include "dialect/pipelines.h"
#include "query/expression/expression.h"
#include "query/expression/operators.h"
#include "sched/interruption.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

// Bounds the recursion of parsing, and with it that of evaluating.
class Level {
  public:
    explicit Level(Names& names) : names_(names) {
        if (++names_.depth > bson::kDepthMax) {
            base::fail(base::kOverflow, "expression is nested too deeply");
        }
    }
    ~Level() {
        DCHECK(names_.depth > 0);
        --names_.depth;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

  private:
    Names& names_;
};

bool is_operator(const Value& e) {
    return e.is_object() && e.as_doc().first().name().starts_with('$');
}

// A document or an array as later servers write it: each part is computed. A missing one is left
// out of a document, and null in an array.
class Composed : public Expression {
  public:
    Composed(const Value& spec, Names& names) : type_(spec.type()) {
        DCHECK(spec.is_object() || spec.is_array());
        for (const Value& part : spec.as_doc()) {
            if (spec.is_object() && part.name().find('.') != std::string_view::npos)
                base::fail(16405, "dotted field names are only allowed at the top level");
            parts_.emplace_back(part.name(), parse_operand(part, names));
        }
    }
    bool needs_no_document() const {
        return std::ranges::all_of(
            parts_, [](const auto& part) { return part.second->constant().has_value(); });
    }
    Value evaluate(Scope& scope) const override {
        bson::Buffer out;
        const size_t start = open_doc(out);
        for (const auto& [name, expression] : parts_) {
            const Value v = expression->evaluate(scope);
            if (!v.missing())
                write_value(out, name, v);
            else if (type_ == Type::array)
                write_value(out, name, null_value());
        }
        close_doc(out, start);
        return make_doc(scope.arena, type_, bson::Doc(out.data()));
    }
    void add_needs(Needs& needs) const override {
        for (const auto& [name, expression] : parts_)
            expression->add_needs(needs);
    }
    ExpressionPtr simplified() override {
        for (auto& [name, expression] : parts_)
            simplify(expression);
        return nullptr;
    }

  private:
    const Type type_;
    std::vector<std::pair<std::string, ExpressionPtr>> parts_;
};

ExpressionPtr compose(const Value& spec, Names& names) {
    const Level level(names);
    auto composed = std::make_unique<Composed>(spec, names);
    if (!composed->needs_no_document()) return composed;
    Arena arena;
    Scope scope(arena, names.collator.get());
    return std::make_unique<Constant>(composed->evaluate(scope));
}

void add_inclusion(const Value& e, const ObjectRules& rules, dialect::Dialect dialect,
                   ObjectExpression& object) {
    DCHECK(e.is_number() || e.type() == Type::boolean);
    if (!e.truthy()) {
        if (!rules.top_level || e.name() != "_id") {
            base::fail(16406,
                       "The top-level _id field is the only field currently supported for "
                       "exclusion");
        }
        object.exclude_id();
        return;
    }
    if (!rules.inclusion) {
        base::fail(16420, "field inclusion is not allowed inside of $expressions");
    }
    object.add(split_path(e.name(), dialect), nullptr);
}

void add_field(const Value& e, const ObjectRules& rules, ObjectExpression& object, Names& names) {
    sched::tick();
    const std::string_view name = e.name();
    if (!rules.top_level && name.find('.') != std::string_view::npos) {
        base::fail(16405, "dotted field names are only allowed at the top level");
    }
    switch (e.type()) {
        case Type::object: {
            ObjectRules inner = rules;
            inner.top_level = false;
            object.add(split_path(name, names.dialect), parse_object(e.as_doc(), inner, names));
            break;
        }
        case Type::string:
            object.add(split_path(name, names.dialect),
                       FieldExpression::parse(e.as_string(), names));
            break;
        case Type::boolean:
        case Type::number_double:
        case Type::int32:
        case Type::int64:
            add_inclusion(e, rules, names.dialect, object);
            break;
        default:
            base::fail(15992, "disallowed field type {} in object expression (at '{}')",
                       type_name(e.type()), name);
    }
}

}  // namespace

ExpressionPtr parse_operand(const Value& spec, Names& names) {
    sched::tick();
    if (spec.is_string() && spec.as_string().starts_with('$')) {
        return FieldExpression::parse(spec.as_string(), names);
    }
    if (names.dialect.has(dialect::kListsAreExpressions) && (spec.is_object() || spec.is_array()) &&
        !is_operator(spec))
        return compose(spec, names);
    if (spec.is_object()) {
        ObjectRules rules;
        rules.documents = true;
        return parse_object(spec.as_doc(), rules, names);
    }
    return std::make_unique<Constant>(spec);
}

ExpressionPtr parse_object(bson::Doc spec, const ObjectRules& rules, Names& names) {
    const Level level(names);
    auto object = std::make_unique<ObjectExpression>();
    if (rules.top_level) object->set_root();
    ExpressionPtr op;
    bool first = true;
    for (const Value& e : spec) {
        const std::string_view name = e.name();
        if (op) {
            if (name.starts_with('$')) {
                base::fail(15983,
                           "the operator must be the only field in a pipeline object (at "
                           "'{}')",
                           name);
            }
            base::fail(names.dialect.code(15990, 15983),
                       "this object is already an operator expression, and can't be used "
                       "as a document expression (at '{}')",
                       name);
        }
        if (name.starts_with('$')) {
            if (!first) {
                base::fail(15983,
                           "the operator must be the only field in a pipeline object (at "
                           "'{}')",
                           name);
            }
            if (rules.top_level) {
                base::fail(16404, "$expressions are not allowed at the top-level of $project");
            }
            op = parse_operator(name, e, names);
        } else {
            add_field(e, rules, *object, names);
        }
        first = false;
    }
    if (op) return op;
    return object;
}

namespace {

enum class Depth { top, below };

// Into the `object` of the place where `spec` stands.
void parse_added(bson::Doc spec, Depth depth, ObjectExpression& object, Names& names) {
    const Level level(names);
    for (const Value& e : sched::ticked(spec)) {
        const std::vector<std::string> path = split_path(e.name(), names.dialect);
        if (depth == Depth::below && path.size() > 1)
            base::fail(40183, "cannot use dotted field name '{}' in a sub object", e.name());
        if (e.is_object() && !e.as_doc().empty() && !is_operator(e)) {
            parse_added(e.as_doc(), Depth::below, object.below(path), names);
        } else {
            object.add(path, parse_operand(e, names));
        }
    }
}

bool chooses(const Value& e) {
    return e.is_number() || e.type() == Type::boolean;
}

// Parses as parse_added() does, with fields that are taken over.
void parse_projected(bson::Doc spec, Depth depth, ObjectExpression& object, Names& names) {
    const Level level(names);
    for (const Value& e : sched::ticked(spec)) {
        if (e.name().ends_with(".$"))
            base::fail(31324, "positional projection '{}' is not allowed in an aggregation",
                       e.name());
        const std::vector<std::string> path = split_path(e.name(), names.dialect);
        if (e.is_object() && e.as_doc().empty())
            base::fail(51270,
                       "An empty sub-projection is not a valid value. Found empty object at path "
                       "{}",
                       e.name());
        if (chooses(e) && !e.truthy()) {
            if (depth == Depth::below || e.name() != "_id")
                base::fail(31254, "Cannot do exclusion on field {} in inclusion projection",
                           e.name());
            object.exclude_id();
        } else if (chooses(e)) {
            object.add(path, nullptr);
        } else if (is_operator(e) &&
                   find_operator(e.as_doc().first().name(), dialect::kToday) == nullptr) {
            base::fail(31325, "Unknown expression {}", e.as_doc().first().name());
        } else if (e.is_object() && !is_operator(e)) {
            parse_projected(e.as_doc(), Depth::below, object.below(path), names);
        } else {
            object.add(path, parse_operand(e, names));
        }
    }
}

// Returns whether the first field other than `_id` that is chosen or not is chosen; true if there
// is no such field.
bool first_choice(bson::Doc spec, bool top_level) {
    for (const Value& e : sched::ticked(spec)) {
        if (top_level && e.name() == "_id") continue;
        if (chooses(e)) return e.truthy();
        if (e.is_object() && !is_operator(e)) return first_choice(e.as_doc(), false);
        return true;
    }
    return true;
}

// A projection that takes fields away can do nothing else.
void refuse_mixture(bson::Doc spec, bool top_level) {
    for (const Value& e : sched::ticked(spec)) {
        if (top_level && e.name() == "_id" && chooses(e)) continue;
        if (e.is_object() && !is_operator(e))
            refuse_mixture(e.as_doc(), false);
        else if (!chooses(e))
            base::fail(31252, "Cannot use expression other than $meta in exclusion projection");
        else if (e.truthy())
            base::fail(31253, "Cannot do inclusion on field {} in exclusion projection", e.name());
    }
}

}  // namespace

std::unique_ptr<ObjectExpression> parse_projection_of_today(bson::Doc spec, Names& names) {
    constexpr int kGivenBefore = 16400;
    constexpr int kGivenAbove = 16401;
    if (spec.empty()) base::fail(51272, "projection specification must have at least one field");
    if (!first_choice(spec, true)) refuse_mixture(spec, true);
    auto object = std::make_unique<ObjectExpression>();
    object->set_root();
    try {
        parse_projected(spec, Depth::top, *object, names);
    } catch (const base::Error& e) {
        if (e.code() == kGivenBefore) sched::fail_because(e, 31250, "Path collision: {}", e.what());
        if (e.code() == kGivenAbove) sched::fail_because(e, 31249, "Path collision: {}", e.what());
        throw;
    }
    return object;
}

std::unique_ptr<ObjectExpression> parse_added_fields(bson::Doc spec, Names& names) {
    constexpr int kGivenBefore = 16400;
    constexpr int kGivenAbove = 16401;
    auto object = std::make_unique<ObjectExpression>();
    try {
        parse_added(spec, Depth::top, *object, names);
    } catch (const base::Error& e) {
        if (e.code() != kGivenBefore && e.code() != kGivenAbove) throw;
        sched::fail_because(e, 40176, "specification contains two conflicting paths: {}", e.what());
    }
    return object;
}

std::unique_ptr<ObjectExpression> parse_projection(bson::Doc spec, Names& names) {
    ObjectRules rules;
    rules.top_level = true;
    rules.documents = true;
    rules.inclusion = true;
    ExpressionPtr parsed = parse_object(spec, rules, names);
    // At the top level only documents are allowed.
    DCHECK(dynamic_cast<ObjectExpression*>(parsed.get()) != nullptr);
    std::unique_ptr<ObjectExpression> object(static_cast<ObjectExpression*>(parsed.release()));
    if (object->field_count() == 0) {
        base::fail(16403, "$project requires at least one output field");
    }
    return object;
}

}  // namespace query
