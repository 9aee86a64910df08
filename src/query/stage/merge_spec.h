// query/stage/merge_spec.h - what a $merge asks for: each result becomes a part of the
// document that has the same values in some fields, or a new document.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dcheck.h"
#include "bson/builder.h"
#include "query/expression/expression.h"
#include "query/expression/let_variables.h"
#include "query/expression/pipeline_context.h"

namespace query {

class MergeSpec {
  public:
    enum class Matched : uint8_t { replace, keep_existing, merge, fail, pipeline };
    enum class NotMatched : uint8_t { insert, discard, fail };

    // `spec`: the value of $merge, which lives longer; its `into` is up to output.h. Throws
    // base::Error 40413 and 40415 for fields, 51134, 51186, 51187 and 31465 for `on`, 51191 and 2
    // for modes, 51181 for two that do not go together, 51199 and 51273 for `let`, and what the
    // pipeline of whenMatched is refused for as an update.
    MergeSpec(const Value& spec, const PipelineContext& context);

    // Paths, without doubles.
    const std::vector<std::string>& on() const { return on_; }
    bool is_on(std::string_view path) const;
    Matched matched() const { return matched_; }
    NotMatched not_matched() const { return not_matched_; }
    // Returns the filter that matches the document that a result belongs to. Throws base::Error
    // 51132 and 51185 if the result has no value that can be looked for.
    bson::Object filter(bson::Doc result) const;
    // The stages of the update that is made to that document, with the variables below. REQUIRES:
    // not Matched::fail.
    bson::Doc stages() const {
        DCHECK(matched_ != Matched::fail);
        return stages_;
    }
    std::shared_ptr<const LetVariables> variables(bson::Doc result);
    // Appends all its fields but `into`.
    void describe(bson::Builder& out) const;

  private:
    void parse_field(const Value& e);
    void parse_on(const Value& on);
    void parse_matched(const Value& mode);
    void parse_let(const PipelineContext& context);
    void check_modes() const;
    std::shared_ptr<LetVariables> outer_variables() const;

    std::vector<std::string> on_;
    Matched matched_ = Matched::merge;
    NotMatched not_matched_ = NotMatched::insert;
    bson::Doc stages_;  // in the specification, or in `made_`
    bson::Object made_;
    Value let_spec_;
    const std::shared_ptr<const LetVariables> outer_;  // of the command; null: none
    Arena arena_;
    Scope scope_{arena_};
    std::vector<std::pair<std::string, ExpressionPtr>> let_;
};

}  // namespace query
