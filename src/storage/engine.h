// storage/engine.h - what a storage engine offers to catalog/: databases, their collections and
// indexes as stored.
//
// Nothing above this interface knows a file offset. The rules of names, index definitions,
// uniqueness and key derivation are catalog/'s; the engine stores what it is given and keeps its
// own structures consistent. Each call requires the lock named with it; "shared" means at least the
// database lock in shared mode, "exclusive" the database lock in exclusive mode or global W.
// Documents may be changed under less where the engine keeps those apart that change the same one:
// record_store.h, sorted_index.h. The engine copies text and documents given. A call that fails
// throws base::Error with the code named and changes nothing; damaged data throws too, wherever it
// is met.
//
// Functions with a body here are for abilities that not every engine has. storage/contract/ is the
// test that an engine must pass; its memory_engine.h is the smallest one that does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bson/builder.h"
#include "storage/durability.h"
#include "storage/lock.h"
#include "storage/name_limits.h"
#include "storage/record_store.h"
#include "storage/sorted_index.h"
#include "storage/transaction.h"

namespace storage {

// How a collection is created. `options` is stored as it is (mmapv1: system.namespaces) and
// returned by options(); the other fields say the same to the engine. Sizes in bytes.
struct CollectionOptions {
    bson::Object
        options;  // normalised document: capped, size, max, autoIndexId, flags, temp, $nExtents
    bool capped = false;
    int64_t capped_bytes = 0;          // the engine may round it up
    int64_t capped_max_documents = 0;  // 0 = no limit
    int32_t user_flags = 1;            // bit 0 usePowerOf2Sizes
    bool id_index = false;  // an index on _id is made with it (mmapv1: systemFlags bit 0)
    std::vector<int64_t> extent_bytes;  // $nExtents given as sizes (or equal sizes); empty:
                                        // engine's choice. Engines without extents ignore it.
};

// One index as stored. The spec document is the engine's copy: { v, [unique], key, name, ns, ... }.
// It is read long after the call, as is `index`: both stay where they are, also while no lock is
// held, until the index is dropped or its collection is dropped, renamed or closed; the spec also
// until replace_index_spec changes it. Other indexes may come, go or change slots during that time.
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
    // full validation compares every ready index with what the documents ask for. The specs given
    // must stay at their address during validate().
    std::function<void(bson::Doc spec, bson::Doc doc,
                       const std::function<void(bson::Doc key)>& add)>
        derive_keys;
};

// The findings of validate(). The caller makes the reply of them.
struct ValidateReport {
    int index_count = 0;  // indexes that are ready
    // Keys in each index, by its namespace ("db.coll.$name"); those that could be examined.
    std::vector<std::pair<std::string, int64_t>> keys_per_index;
    // Damage, in words; none: all is consistent. One wrong link can make every record look wrong:
    // behind the first kErrorsMax they are only counted.
    static constexpr size_t kErrorsMax = 1000;
    std::vector<std::string> errors;
    int64_t errors_left_out = 0;
    void add_error(std::string text) {
        if (errors.size() < kErrorsMax)
            errors.push_back(std::move(text));
        else
            ++errors_left_out;
    }
    bool valid() const { return errors.empty(); }
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
    virtual bson::Object options() const = 0;  // {} if none are stored
    // exclusive. Shown by stats(), and recorded in the options as `flags`.
    virtual void set_user_flags(int32_t flags) = 0;
    // exclusive. Puts others in the place of the stored options. REQUIRES: they differ only in what
    // the engine does nothing with (validator, validationLevel, validationAction).
    virtual void replace_options(bson::Doc options) = 0;

    // Indexes in slot order; completed ones first. shared. 0 <= slot < index_count() everywhere.
    virtual int index_count() const = 0;
    virtual IndexEntry index(int slot) const = 0;
    // exclusive. Registers an index (not ready, empty tree) behind all others; returns its slot.
    // Limit 64 and names: caller checks. Throws base::Error 67 for a kind that the engine cannot
    // maintain.
    virtual int begin_index(bson::Doc spec) = 0;
    // exclusive. The build is complete; returns the slot the index has from now on, the first that
    // was not ready. The index that had it takes `slot`.
    virtual int finish_index(int slot) = 0;
    // exclusive; also unfinished ones. The indexes behind it move up by one.
    virtual void drop_index(int slot) = 0;
    virtual void set_multikey(int slot) = 0;  // exclusive
    // exclusive. Puts another spec in the place of the stored one: the same index, but for options
    // that say nothing of its keys (expireAfterSeconds, hidden).
    virtual void replace_index_spec(int slot, bson::Doc spec) = 0;

    // shared. Damage is reported, not thrown. Appends the engine's own metrics for the reply to
    // `metrics`, with nrecords among them where the records can be counted.
    virtual ValidateReport validate(const ValidateOptions& options, bson::Builder& metrics) = 0;
    // shared. Verbose collStats: extents, deleted lists; engine specific. Sizes divided by `scale`.
    virtual void append_verbose_stats(bson::Builder& /*out*/, int64_t /*scale*/) const {}
    // exclusive. Gives back the space that removed records left: mmapv1 rewrites all records into
    // new extents. The engine calls `before_copy` once, before any record gets another id: the
    // caller then drops all indexes and begins them again (begin_index). It calls `copied` with
    // each record under the id it has from then on, and the caller fills the indexes at the end.
    // Either may be empty. Fields of the command (paddingFactor, paddingBytes, preservePadding) are
    // the engine's to read; bad values throw base::Error before anything is changed.
    virtual void compact(const bson::Object& command, const CompactHooks& hooks,
                         bson::Builder& out) = 0;
    // shared. Returns the options with which create_collection() makes a collection like this one,
    // stored options included. Trusts no links.
    virtual CollectionOptions creation_options() const = 0;
    // shared. Hands out every document that can be read, in natural order, whatever else is
    // damaged; `skipped` gets a text for each place that cannot be read.
    virtual void salvage(const std::function<void(bson::Doc)>& use,
                         const std::function<void(const std::string&)>& skipped) = 0;
    // shared. Throws base::Error when the collection can be read but not written: files of a newer
    // server, an index that the engine cannot maintain. Every change of a document asks first.
    virtual void check_writable() const {}
};

// dbStats metrics of a database (sizes in bytes). A metric that an engine lacks stays 0.
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
    virtual bool writable() const { return true; }
    // Full namespaces of all collections (not of indexes), in the engine's order. shared.
    virtual std::vector<std::string> collections() const = 0;
    // Null if there is none. shared. The pointer stays good until drop, rename or close.
    virtual CollectionStore* collection(std::string_view ns) = 0;
    // Whether system.namespaces and system.indexes are collections of the engine, found like any
    // other. If they are not, catalog/ makes some for the clients that query them.
    virtual bool has_catalogue_collections() const { return false; }
    // Plain numbers of a non-collection namespace ("c.$a_1"), for collStats and validate; null if
    // unknown. shared.
    virtual CollectionStore* internal_namespace(std::string_view /*ns*/) { return nullptr; }
    // exclusive. Throws base::Error 48 if it exists, 73 for a name the engine cannot store.
    virtual CollectionStore& create_collection(std::string_view ns,
                                               const CollectionOptions& options) = 0;
    // exclusive. With all its indexes. Throws base::Error 26 if there is none.
    virtual void drop_collection(std::string_view ns) = 0;
    // exclusive. Same database; records, their ids and indexes stay. The engine puts the new name
    // into `ns` of the stored specs and `create` of the options, and takes `temp` out of these
    // unless `stay_temp`. Throws base::Error 26, 48, 73.
    virtual void rename_collection(std::string_view from, std::string_view to, bool stay_temp) = 0;
    // exclusive. Gives up space that waits for reuse where its book-keeping is damaged, and makes
    // the catalogue name what is there; collections() may have others then. Damage inside of
    // collections stays. Throws base::Error when the disk is full.
    virtual void repair() {}
    virtual DatabaseStats stats() const = 0;
};

// A dropped database whose space has not been given back to the system. It goes back when this
// object ends, which can take seconds: hold no lock then.
class Remains {
  public:
    virtual ~Remains() = default;
};

class Engine {
  public:
    virtual ~Engine() = default;
    virtual std::string_view name() const = 0;  // "mmapv1"
    virtual LockManager& locks() = 0;
    virtual Durability& durability() = 0;

    // Returns how long names may be. Any thread, as the functions down to new_name_limits().
    virtual const NameLimits& name_limits() const { return kOldNameLimits; }
    // Whether names and index keys may be longer than those of mmapv1.
    bool keeps_long() const { return name_limits().ns > kOldNameLimits.ns; }
    // Makes an engine that keeps long ones refuse new ones, for the sake of servers that copy its
    // data; or not any more. Those that are there stay.
    virtual void refuse_long(bool /*refuses*/) {}
    virtual bool refuses_long() const { return false; }
    const NameLimits& new_name_limits() const {
        return refuses_long() ? kOldNameLimits : name_limits();
    }

    virtual std::vector<std::string> database_names() const = 0;  // sorted; any lock
    // Returns the databases that are there but cannot be opened; database() throws what is wrong
    // with one. Any lock.
    virtual std::vector<std::string> unusable_databases() const { return {}; }
    // Whether it is one of those, and the obstacle to opening it may have passed: no more files, no
    // memory, an error of the device. Any lock.
    virtual bool may_open_now(std::string_view /*db*/) const { return false; }
    // global W. Tries it again; if it fails, database() throws why. Returns whether it is open for
    // the first time since the start, so that the caller does what belongs to a start.
    virtual bool open_again(std::string_view /*db*/) { return false; }
    virtual int64_t database_bytes(std::string_view db) const = 0;  // sizeOnDisk
    // Opens if it exists on disk; null if not. Takes an internal mutex; the caller holds at least
    // shared. The pointer stays good until drop or close.
    virtual DatabaseStore* database(std::string_view db) = 0;
    virtual DatabaseStore& create_database(std::string_view db) = 0;  // exclusive; or the one there
    // global W. Drops the database with all its collections; durable when it returns. Throws
    // base::Error 26. The returned object need not be kept.
    virtual std::unique_ptr<Remains> drop_database(std::string_view db) = 0;
    // global W. Removes for good what a drop that has failed may have left of a database that is
    // not there any more. Throws base::Error as that drop did.
    virtual std::unique_ptr<Remains> finish_drop(std::string_view /*db*/) { return nullptr; }
    // global W. Closes everything of it; the next database() opens it again.
    virtual void close_database(std::string_view db) = 0;
    // Returns a transaction over several requests; null: the engine has none. It ends before the
    // engine does. Any thread.
    virtual std::unique_ptr<Transaction> begin_transaction() { return nullptr; }
    // Whether its cache is so full that a transaction which reads old rows should end.
    virtual bool is_short_of_cache() const { return false; }
    // A folder beside the data for temporary files, created by its users; what a stop of the server
    // leaves there is removed by the next start. Empty: the engine has none.
    virtual std::string scratch_directory() const { return {}; }
    // Makes the folder of that name below `directory` and in it a copy of all data, as they are at
    // a moment of the call, while clients write; returns false if the engine's files can only be
    // copied while none do (storage/fsync_lock.h). No lock.
    virtual bool copy_data(const std::string& /*directory*/) { return false; }
    // Appends its metrics for serverStatus, where they are a section with the engine's name. Any
    // thread, no lock.
    virtual void append_metrics(bson::Builder& /*out*/) const {}
    // Clean shutdown: final commit, flush, close, journal removed, lock file emptied. REQUIRES: no
    // lock held; called once, and followed only by the destructor. No lock is given afterwards: an
    // operation that still waits for one does so for ever, unless it is interrupted.
    virtual void shutdown() = 0;
};

}  // namespace storage
