// query/expression/let_variables.h - the variables that a command's `let` gives to its
// expressions: computed once, before the first document.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "query/value/value.h"

namespace query {

class LetVariables {
  public:
    // {name: expression, ...}; each may use those before it. Throws base::Error 16866 to 16868 for
    // a name, 4890500 where a value would depend on a document, and what expressions throw.
    // `collator`: under which they compare texts; null: by their bytes.
    explicit LetVariables(bson::Doc let,
                          const std::shared_ptr<const collation::Collator>& collator = nullptr);
    // Starts with the variables of a command, which may be null, for others beside them.
    explicit LetVariables(std::shared_ptr<const LetVariables> outer)
        : outer_(std::move(outer)),
          variables_(outer_ == nullptr ? OuterVariables() : outer_->variables()) {}
    LetVariables(const LetVariables&) = delete;
    LetVariables& operator=(const LetVariables&) = delete;

    // Defines a name that a client gives. Copies the value, which is no expression. Throws
    // base::Error 16866 to 16868 for a name that no variable can have.
    void define(std::string_view name, const Value& value);
    // Copies the value.
    void add(std::string_view name, const Value& value) {
        variables_.emplace_back(name, copy_value(arena_, value));
    }
    // The values live as long as this.
    const OuterVariables& variables() const { return variables_; }

  private:
    const std::shared_ptr<const LetVariables> outer_;
    Arena arena_;
    OuterVariables variables_;
};

}  // namespace query
