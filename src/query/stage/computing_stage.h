// query/stage/computing_stage.h - what stages that evaluate expressions share.
#pragma once

#include "query/stage/stage.h"

namespace query {

// A stage that computes each output document from one input document.
class Computing : public Stage {
  protected:
    // Prepares the scope for the names that parsing left; call once the expressions are parsed.
    void prepare(const Names& names) { scope_.prepare(names); }
    Scope& scope_for(bson::Doc doc) {
        arena_.clear();
        scope_.set_root(doc);
        return scope_;
    }

    Arena arena_;
    Scope scope_{arena_};
    bson::Buffer out_;
};

}  // namespace query
