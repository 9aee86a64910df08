// command/commands/request_expressions.h - $expr and `let` of a request. Only OP_MSG brings them:
// the old server knew neither.
#pragma once

#include <memory>

#include "base/dcheck.h"
#include "command/request/invocation.h"
#include "dialect/dialect.h"
#include "dialect/filters.h"
#include "query/expression/filter_expression.h"

namespace command {

inline constexpr Field kLet = of_today("let", types::object, "5.0");

class RequestExpressions {
  public:
    using Collator = std::shared_ptr<const collation::Collator>;

    // Computes the variables of `let`. `collator`: under which they compare texts; null: by their
    // bytes. Throws what query::LetVariables does.
    explicit RequestExpressions(const Invocation& invocation, const Collator& collator = nullptr)
        : RequestExpressions(invocation.dialect(), invocation.field(kLet.name), collator) {}
    // Does the same with the field `let`, where it is at hand.
    RequestExpressions(dialect::Dialect dialect, const bson::Element& let, const Collator& collator)
        : dialect_(dialect), expressions_(variables(dialect, let, collator)) {
        DCHECK(get() != nullptr || expressions_.let() == nullptr);
    }

    // Returns the expressions for readers of filters: null by the old messages. A parsed filter
    // keeps the variables.
    const query::FilterExpressions* get() const {
        return dialect_.has(dialect::kExpressionsInFilters) ? &expressions_ : nullptr;
    }
    const std::shared_ptr<const query::LetVariables>& let() const { return expressions_.let(); }

  private:
    static std::shared_ptr<const query::LetVariables> variables(dialect::Dialect dialect,
                                                                const bson::Element& let,
                                                                const Collator& collator) {
        if (!dialect.has(dialect::kExpressionsInFilters) || !let.is_object() ||
            let.as_doc().empty())
            return nullptr;
        return std::make_shared<const query::LetVariables>(let.as_doc(), collator);
    }

    const dialect::Dialect dialect_;
    const query::FilterExpressions expressions_;
};

}  // namespace command
