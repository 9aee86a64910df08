// query/update/modifier_table.h - the operators of an update by their names, and the paths that
// they have.
#pragma once

#include <memory>
#include <string_view>

#include "query/update/array_filters.h"
#include "query/update/update.h"
#include "query/update/update_tree.h"

namespace query {

using ModifierMaker = std::unique_ptr<Modifier> (*)(const bson::Element&,
                                                    const Update::Options& options);

// Null: no modifier has that name.
ModifierMaker maker_of(std::string_view name);

// Splits a dotted path; a "$" that is not the first part is positional. `filters`: what "$[...]"
// may name; null: it is a name as others. Throws base::Error 2 or 56.
void parse_path(std::string_view text, ArrayFilters* filters, Mod& mod);

}  // namespace query
