// catalog/index_spec.h - index definitions: checking what a client asks for, bringing it into the
// stored form, and comparing it with the indexes that exist (wire spec 4.6, mmapv1 spec 7.2).
#pragma once

#include <string_view>

#include "bson/builder.h"
#include "catalog/collection.h"
#include "storage/name_limits.h"

namespace catalog {

constexpr int kIndexesMax = 64;  // of a collection

// The definition of the automatic index: {v: 1, key: {_id: 1}, name: "_id_", ns}, with the
// collation of its collection; null: none.
bson::Object id_index_spec(std::string_view ns, const collation::Collator* collator = nullptr);

// Checks `spec` and returns the stored form: v, [unique: true], key, name, then the other fields in
// the order given, ns (behind the name where missing) and collation (at the end) among them.
// `inherited`: the collation of the collection, which is that of the index if `spec` names none;
// null: none. In a collection that has one every definition names its own, the simple one too: so
// each reader of definitions (the log of writes, an initial sync, listIndexes, dumps) has what
// makes the same index again. A stored definition stays as it is when it is normalised again.
// Throws base::Error 67, 13103, 13118, 14803, 72, what query::Matcher throws for a bad filter and
// collation::Collator::make for a bad collation.
bson::Object normalise_index_spec(
    bson::Doc spec, std::string_view ns,
    const std::shared_ptr<const collation::Collator>& inherited = nullptr,
    const storage::NameLimits& limits = storage::kOldNameLimits);
// Returns the definition that makes the same index of another collection, or of that of another
// member, whatever its collation: servers that were made before stored definitions without the
// simple one.
bson::Object spec_to_copy(bson::Doc stored);

// Checks the properties that matter only when an index is to be built: kinds of keys that nothing
// can be derived from, and hashes that should be unique. Throws base::Error 16763, 16764, 16767.
void check_key_kind(bson::Doc normalised);

// Compares a normalised definition with the existing indexes. Returns true if an equal index is
// there already; throws base::Error 85 (same key and filter, other options), 86 (same name, other
// key or filter) or 67 (too many).
bool index_exists(const Collection& collection, bson::Doc normalised);

// Returns the definition with the versions of text and 2dsphere that today's servers take, where it
// names none.
bson::Object with_versions_of_today(bson::Doc spec);

}  // namespace catalog
