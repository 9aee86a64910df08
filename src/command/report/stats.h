// command/report/stats.h - metrics of one collection, for collStats and the $collStats stage.
#pragma once

#include <cstdint>

#include "bson/builder.h"
#include "catalog/catalog.h"

namespace command {

// The fields of collStats (shared lock held). `collection` may be null for an internal namespace.
void append_collection_stats(catalog::Collection* collection, storage::CollectionStore& store,
                             int64_t scale, bool verbose, bson::Builder& out);

// Appends the fields that later servers add: maxSize of a capped one, totalSize and others. The
// same as above.
void append_more_stats(catalog::Collection* collection, storage::CollectionStore& store,
                       int64_t scale, bson::Builder& out);

}  // namespace command
