// query/update/odd_arguments.h - arguments of modifiers that the old server took, and today's
// refuse.
#pragma once

#include <string_view>

#include "bson/view.h"

namespace query {

// `argument`: what the modifier has for one field. Throws base::Error with the codes of today's
// servers: 2, 9, 14, 51108.
void refuse_odd_argument(std::string_view modifier, const bson::Element& argument);

}  // namespace query
