// storage/engine.h - what a storage engine offers to catalog/: databases, their collections and
// indexes as stored.
//
// Nothing above this interface knows a file offset. The rules of names, index definitions,
// uniqueness and key derivation are catalog/'s; the engine stores what it is told and keeps its own
// structures whole. All calls require the lock named with them; "exclusive" means the database lock
// in exclusive mode or global W.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "storage/durability.h"
#include "storage/lock.h"
#include "storage/record_store.h"
#include "storage/sorted_index.h"

namespace storage {

// How a collection is created. `options` is stored as it is (mmapv1: system.namespaces) and
// returned by options().
struct CollectionOptions {
    bson::Object
        options;  // normalised document: capped, size, max, autoIndexId, flags, temp, $nExtents
    bool capped = false;
    int64_t capped_bytes = 0;
    int64_t capped_max_documents = 0;  // 0 = no limit
    int32_t user_flags = 1;            // bit 0 usePowerOf2Sizes
    std::vector<int64_t>
        extent_bytes;  // $nExtents given as sizes (or equal sizes); empty: engine's choice
};

// One index as stored. The spec document is the engine's copy: { v, [unique], key, name, ns, ... }.
struct IndexEntry {
    bson::Doc spec;
    std::string name;
    bool multikey = false;
    bool ready = false;  // false while being built
    SortedIndex* index =
        nullptr;  // null for kinds the engine cannot maintain (plug-ins); reads must not use it
};

struct ValidateOptions {
    bool full = false;
    bool scan_data = false;
    // Derives the keys of a document for an index definition and hands each to `add`. If set, a
    // full validation compares every index with what the documents ask for.
    std::function<void(bson::Doc spec, bson::Doc doc,
                       const std::function<void(bson::Doc key)>& add)>
        derive_keys;
};

struct CompactHooks {
    std::function<void()> before_copy;
    std::function<void(const Record&)> copied;
};

class CollectionStore {
  public:
    virtual ~CollectionStore() = default;
    virtual const std::string& ns() const = 0;
    virtual RecordStore& records() = 0;
    virtual bson::Object options() const = 0;          // {} if none are stored
    virtual void set_user_flags(int32_t flags) = 0;    // exclusive; also recorded in the options
    virtual void set_system_flags(int32_t flags) = 0;  // exclusive

    // Indexes in slot order; completed ones first.
    virtual int index_count() const = 0;
    virtual IndexEntry index(int slot) const = 0;
    // exclusive. Registers an index (not ready, empty tree); returns its slot. Limit 64: caller
    // checks.
    virtual int begin_index(bson::Doc spec) = 0;
    // exclusive. The build is complete; returns the slot the index has from now on.
    virtual int finish_index(int slot) = 0;
    virtual void drop_index(int slot) = 0;    // exclusive; also unfinished ones
    virtual void set_multikey(int slot) = 0;  // exclusive
    // exclusive. Overwrites a number inside the stored spec without changing its type
    // (expireAfterSeconds).
    virtual void set_index_number(int slot, std::string_view field, int64_t value) = 0;

    // shared. Appends the fields of the validate reply (without ok); returns whether all is sound.
    virtual bool validate(const ValidateOptions& options, bson::Builder& out) = 0;
    // Verbose collStats: extents, deleted lists; engine specific.
    virtual void append_verbose_stats(bson::Builder& out, int64_t scale) const = 0;
    // exclusive. Rewrites all records into new extents. The engine calls `before_copy` when the
    // space is ready: the caller then drops all indexes and begins them again (begin_index). It
    // calls `copied` with each record under its new id, from which the caller builds the indexes.
    // Fields of the command (paddingFactor, paddingBytes, preservePadding) are read here; their bad
    // values throw base::Error before anything is changed.
    virtual void compact(const bson::Object& command, const CompactHooks& hooks,
                         bson::Builder& out) = 0;
    // shared. What create_collection() needs to make a collection like this one, stored options
    // included. Trusts no links.
    virtual CollectionOptions creation_options() const = 0;
    // shared. Hands out every document that can be read, in natural order, whatever else is
    // damaged; `skipped` is told in words of each place that cannot be read.
    virtual void salvage(const std::function<void(bson::Doc)>& use,
                         const std::function<void(const std::string&)>& skipped) = 0;
    // shared. Throws base::Error when the collection can be read but not written: files of a newer
    // server, an index that the engine cannot maintain. Every change of a document asks first.
    virtual void check_writable() const = 0;
};

// dbStats figures of a database (sizes in bytes).
struct DatabaseStats {
    int64_t file_bytes = 0;
    int64_t ns_bytes = 0;
    int32_t file_version_major = 0, file_version_minor = 0;
    int64_t free_extents = 0, free_extent_bytes = 0;
};

class DatabaseStore {
  public:
    virtual ~DatabaseStore() = default;
    virtual const std::string& name() const = 0;
    // False when its files can only be read: those of a newer server.
    virtual bool writable() const = 0;
    // Full namespaces of all collections (not of indexes), in the engine's order. shared.
    virtual std::vector<std::string> collections() const = 0;
    // Null if there is none. shared. The pointer stays good until drop, rename or close.
    // system.namespaces and system.indexes are found like any collection where the engine keeps
    // them as such.
    virtual CollectionStore* collection(std::string_view ns) = 0;
    // Plain numbers of a non-collection namespace ("c.$a_1"), for collStats and validate; null if
    // unknown. shared.
    virtual CollectionStore* internal_namespace(std::string_view ns) = 0;
    virtual CollectionStore& create_collection(std::string_view ns,
                                               const CollectionOptions& options) = 0;  // exclusive
    virtual void drop_collection(std::string_view ns) = 0;  // exclusive; indexes first
    // exclusive. Same database. Options document of the target is given by the caller's rules: temp
    // kept or not.
    virtual void rename_collection(std::string_view from, std::string_view to, bool stay_temp) = 0;
    // exclusive. Gives up space that waits for reuse where its book-keeping is damaged.
    virtual void mend_free_space() = 0;
    virtual DatabaseStats stats() const = 0;
};

class Engine {
  public:
    virtual ~Engine() = default;
    virtual std::string_view name() const = 0;  // "mmapv1"
    virtual LockManager& locks() = 0;
    virtual Durability& durability() = 0;

    virtual std::vector<std::string> database_names() const = 0;    // on disk or open; any lock
    virtual int64_t database_bytes(std::string_view db) const = 0;  // sizeOnDisk
    // Opens if it exists on disk; null if not. Takes an internal mutex; the caller holds at least
    // shared.
    virtual DatabaseStore* database(std::string_view db) = 0;
    virtual DatabaseStore& create_database(std::string_view db) = 0;  // exclusive
    virtual void drop_database(std::string_view db) = 0;              // global W
    virtual void close_database(std::string_view db) = 0;             // global W
    // Clean shutdown: final commit, flush, close, journal removed, lock file emptied. No lock held;
    // called once.
    virtual void shutdown() = 0;
};

}  // namespace storage
