// storage/mmapv1/collection_owner.h - what a collection asks of the database that it belongs to:
// where its extents come from, its entries in the namespace file, its catalogue documents (mmapv1
// spec 3, 10).
//
// The same locks as for the collection: the database's, exclusive for what changes something.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "storage/mmapv1/space/namespace_index.h"
#include "storage/mmapv1/space/record_store.h"

namespace mmapv1 {

class CollectionOwner {
  public:
    virtual ExtentManager& extents() = 0;
    virtual NamespaceIndex& namespaces() const = 0;
    virtual PaddingSamplers& samplers() = 0;
    // Why the database can only be read; empty if it can be written.
    virtual const std::string& read_only() const = 0;
    // The low nibble of the files' minor version (mmapv1 spec 2.2 rule 2).
    virtual int32_t minor_level() const = 0;

    // Called before the first index of a kind that servers before 2.4 do not have: from then on the
    // files are of level 6. Throws base::Error 67 if an index could not be kept up at that level.
    virtual void admit_newer_kinds() = 0;

    // Documents of system.namespaces. Missing ones are no error for the first two, and one that is
    // damaged is left behind by the second: it belongs to changes that have begun.
    virtual bson::Object listed_options(std::string_view ns) const = 0;
    virtual void unlist(std::string_view ns) = 0;
    virtual void list(std::string_view ns, bson::Doc options) = 0;
    virtual void replace_options(std::string_view ns, bson::Doc options) = 0;
    // system.indexes, created where missing.
    virtual MmapRecordStore& index_definitions() = 0;
    // Removes a document of it, as unlist() does, if it is still that one.
    virtual void undefine(storage::RecordId id, bson::Doc definition) = 0;
    // Called before that many bytes of a definition are kept in memory. Throws base::Error if the
    // slots of a crafted file name one large definition again and again.
    virtual void count_definition(int32_t bytes) = 0;
    // Called before an index with such a definition is made. Throws base::Error if the definitions
    // would become so large together that count_definition() kept the next start from opening the
    // database.
    virtual void check_definition(int32_t bytes) const = 0;
    // The namespace of an index is about to go, or has another name now.
    virtual void forget_internal(std::string_view ns) = 0;

  protected:
    ~CollectionOwner() = default;
};

}  // namespace mmapv1
