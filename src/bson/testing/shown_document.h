// bson/testing/shown_document.h - documents as the client that recorded the oracle showed them, for
// tests.
#pragma once

#include "bson/builder.h"

namespace bson {

// Undefined as null, symbols as strings, old references as documents, one kind of NaN.
bson::Object as_shown(bson::Doc doc);

}  // namespace bson
