// catalog/text_keys.h - the keys of text indexes: {plain fields, term, score, plain fields} for
// each term of a document (text/spec.h).
#pragma once

#include <memory>

#include "catalog/index_keys.h"

namespace catalog {

// Throws base::Error 67 for a damaged definition, and what text::library() throws.
std::unique_ptr<KeyGenerator> make_text_keys(bson::Doc spec);

}  // namespace catalog
