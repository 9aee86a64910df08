// query/stage/computed_projection.h - projections of a find that $project can make: with
// expressions and constants, documents of fields, `_id` beside fields that go.
#pragma once

#include <memory>

#include "collation/collator.h"
#include "query/expression/let_variables.h"
#include "query/project/projection.h"

namespace query {

// `let`: the variables of the request, which the projection keeps; null: none. `collator`: under
// which texts are compared; null: by their bytes. Throws base::Error by the codes of $project.
std::unique_ptr<Projection> make_computed_projection(
    bson::Doc spec, const std::shared_ptr<const LetVariables>& let,
    const std::shared_ptr<const collation::Collator>& collator);

}  // namespace query
