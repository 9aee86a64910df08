// storage/renamed.h - what a rename does to the documents that an engine keeps for a collection
// (mmapv1 spec 10.8). The same for every engine.
#pragma once

#include <string_view>

#include "bson/builder.h"

namespace storage {

// Options under the new full name: `create` repeats the collection's name, and `temp` goes unless
// it shall stay.
bson::Object renamed_options(bson::Doc options, std::string_view to, bool stay_temp);
// An index definition under the new full name.
bson::Object renamed_spec(bson::Doc spec, std::string_view to);

}  // namespace storage
