#include "query/expression/let_variables.h"

#include "base/error.h"
#include "dialect/dialect.h"
#include "query/expression/expression.h"

namespace query {

namespace {

void check_name(std::string_view name) {
    if (name == "CURRENT") base::fail(16867, "'CURRENT' cannot be a variable of a command");
    Names(OuterVariables()).define(name);
}

}  // namespace

LetVariables::LetVariables(bson::Doc let,
                           const std::shared_ptr<const collation::Collator>& collator) {
    for (const Value& e : let) {
        Names names(variables_, dialect::kToday, collator);
        check_name(e.name());
        ExpressionPtr expression = parse_operand(e, names);
        Needs needs;
        expression->add_needs(needs);
        if (needs.whole_document || !needs.fields.empty())
            base::fail(4890500,
                       "Command let Expression tried to access a field, but this is not allowed "
                       "because Command let Expressions run before the query examines any "
                       "documents.");
        Scope scope(arena_);
        scope.prepare(names);
        add(e.name(), expression->evaluate(scope));
    }
}

void LetVariables::define(std::string_view name, const Value& value) {
    check_name(name);
    add(name, value);
}

}  // namespace query
