// bson/type_names.h - what clients call the types of values.
#pragma once

#include <string_view>

#include "bson/types.h"

namespace bson {

// "string", "binData": what type_of_name() takes; "missing" for what is no type.
std::string_view name_of(Type type);

}  // namespace bson
