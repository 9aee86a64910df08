// storage/mmapv1/space/index_definition.h - how the definition of an index that is no kind of 2.6
// stands in system.indexes: of a partial one, and of one with a collation (mmapv1 spec 6.10, 6.11).
//
// A server of 2.6 stores an option that it does not know and has no more to do with it: it would
// take a partial index for one of all documents, miss those that it lacks and add keys of others,
// and look for texts in the order of their bytes. The key pattern on disk therefore begins with a
// kind of index that no such server has, which makes it refuse the collection in files of level 6
// (mmapv1 spec 2.2 rule 2). And an index without that kind is an ordinary one, whatever else such a
// server was asked to store.
#pragma once

#include "bson/builder.h"

namespace mmapv1 {

// Whether a definition, as storage/engine.h has it, is of such an index.
bool is_newer_kind(bson::Doc spec);
// Returns the definition as it is on disk.
bson::Object stored_definition(bson::Doc spec);
// Returns the definition that is stored in this way. An index that is an ordinary one on disk loses
// the options.
bson::Object shown_definition(bson::Doc stored);

}  // namespace mmapv1
