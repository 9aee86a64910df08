// command/context/scripts.h - what scripts of a request have: the functions stored in the
// collection system.js of its database; and $where of its filter.
#pragma once

#include <memory>
#include <string_view>

#include "command/context/operation_context.h"
#include "query/match/match_expression.h"
#include "script/script.h"

namespace command {

// Opens a context in which the stored functions are globals. Throws base::Error 10209 and 10210 for
// a stored one without a name or a value, and what script::open_context() does. REQUIRES: no lock
// on another database is held.
std::unique_ptr<script::Context> open_scripts(OperationContext& context, std::string_view db);

// Whether it is code or a string, and its text then.
bool is_code(const bson::Element& e);
std::string_view text_of_code(const bson::Element& code);

// $where in filters of one request. What it parses keeps nothing of it.
class RequestScripts final : public query::WhereParser {
  public:
    // `ns`: of the collection that is asked.
    RequestScripts(OperationContext& context, std::string_view ns) : context_(context), ns_(ns) {}
    std::unique_ptr<const query::MatchExpression> parse(const bson::Element& code) const override;

  private:
    OperationContext& context_;
    const std::string_view ns_;
};

}  // namespace command
