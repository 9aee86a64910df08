// query/aggregation/let_variables.h - the variables that a command's `let` gives to its
// expressions: computed once, before the first document.
#pragma once

#include <memory>

#include "query/aggregation/value.h"

namespace query {

class LetVariables {
  public:
    // {name: expression, ...}; each may use those before it. Throws base::Error 16866 to 16868 for
    // a name, 4890500 where a value would depend on a document, and what expressions throw.
    // `collator`: under which they compare texts; null: by their bytes.
    explicit LetVariables(bson::Doc let,
                          const std::shared_ptr<const collation::Collator>& collator = nullptr);
    LetVariables(const LetVariables&) = delete;
    LetVariables& operator=(const LetVariables&) = delete;

    // The values live as long as this.
    const OuterVariables& variables() const { return variables_; }

  private:
    Arena arena_;
    OuterVariables variables_;
};

}  // namespace query
