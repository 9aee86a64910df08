#include "query/aggregation/let_variables.h"

#include "base/error.h"
#include "query/aggregation/expression.h"

namespace query {

LetVariables::LetVariables(bson::Doc let,
                           const std::shared_ptr<const collation::Collator>& collator) {
    for (const Value& e : let) {
        Names names(variables_, true, collator);
        if (e.name() == "CURRENT") base::fail(16867, "'CURRENT' cannot be a variable of a command");
        Names(variables_).define(e.name());
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

}  // namespace query
