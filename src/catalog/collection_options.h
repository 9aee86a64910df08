// catalog/collection_options.h - the options of the create command, checked and brought into the
// form that is stored (wire spec 2.5, mmapv1 spec 7.1, semantics 6 rule 9).
#pragma once

#include "bson/builder.h"
#include "storage/engine.h"

namespace catalog {

// `options`: the fields of the command without the collection's name; those of catalog/validator.h
// are taken as they are. Throws base::Error 2, 72, 14832, and what collation::Collator::make does.
storage::CollectionOptions parse_collection_options(bson::Doc options);

}  // namespace catalog
