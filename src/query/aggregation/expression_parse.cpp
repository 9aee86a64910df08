// Objects and operands of pipelines as written by the user.

#include "base/error.h"
#include "base/operation.h"
#include "bson/json.h"
#include "query/aggregation/expression.h"

namespace query {

using bson::Type;

namespace {

// Bounds the recursion of parsing, and with it that of evaluating.
class Level {
  public:
    explicit Level(Names& names) : names_(names) {
        if (++names_.depth > bson::kMaxDepth) {
            base::fail(base::kOverflow, "expression is nested too deeply");
        }
    }
    ~Level() { --names_.depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

  private:
    Names& names_;
};

void add_inclusion(const Value& e, const ObjectRules& rules, ObjectExpression& object) {
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
    object.add(split_path(e.name()), nullptr);
}

void add_field(const Value& e, const ObjectRules& rules, ObjectExpression& object, Names& names) {
    base::Operation::tick();
    const std::string_view name = e.name();
    if (!rules.top_level && name.find('.') != std::string_view::npos) {
        base::fail(16405, "dotted field names are only allowed at the top level");
    }
    switch (e.type()) {
        case Type::object: {
            ObjectRules inner = rules;
            inner.top_level = false;
            object.add(split_path(name), parse_object(e.as_doc(), inner, names));
            break;
        }
        case Type::string:
            object.add(split_path(name), FieldExpression::parse(e.as_string(), names));
            break;
        case Type::boolean:
        case Type::number_double:
        case Type::int32:
        case Type::int64:
            add_inclusion(e, rules, object);
            break;
        default:
            base::fail(15992, "disallowed field type {} in object expression (at '{}')",
                       type_name(e.type()), name);
    }
}

}  // namespace

ExpressionPtr parse_operand(const Value& spec, Names& names) {
    base::Operation::tick();
    if (spec.is_string() && spec.as_string().starts_with('$')) {
        return FieldExpression::parse(spec.as_string(), names);
    }
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
            base::fail(15990,
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

std::unique_ptr<ObjectExpression> parse_projection(bson::Doc spec, Names& names) {
    ObjectRules rules;
    rules.top_level = true;
    rules.documents = true;
    rules.inclusion = true;
    ExpressionPtr parsed = parse_object(spec, rules, names);
    // At the top level only documents are allowed.
    std::unique_ptr<ObjectExpression> object(static_cast<ObjectExpression*>(parsed.release()));
    if (object->field_count() == 0) {
        base::fail(16403, "$project requires at least one output field");
    }
    return object;
}

}  // namespace query
