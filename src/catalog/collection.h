// catalog/collection.h - one collection with its indexes: the one place that keeps records and
// indexes in step.
//
// Collection objects belong to their Database and live until drop, rename or close. Reading calls
// require the database lock shared, changing calls exclusive. If allows_concurrent_changes() is
// true, insert(), update(), patch() and remove() are for holders of storage::Access::documents too,
// which have locked the record (storage/record_store.h). They then may throw
// storage::WriteConflict, with nothing changed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bson/patch.h"
#include "catalog/change_log.h"
#include "catalog/index_keys.h"
#include "catalog/insert_waiters.h"
#include "catalog/key_change.h"
#include "catalog/ring_marks.h"
#include "catalog/validator.h"
#include "storage/engine.h"
#include "storage/write_unit.h"

namespace catalog {

// One usable (or building) index.
struct Index {
    int slot = 0;
    std::string name;
    bson::Doc spec;         // the stored definition
    bson::Doc key_pattern;  // inside spec
    bool unique = false;    // also for {_id: 1}
    bool sparse = false;
    bool multikey = false;
    bool ready = true;
    bool is_id = false;
    bool drop_dups = false;   // and unique
    bool hidden = false;      // kept up like others, but no query uses it
    bool is_special = false;  // only queries of its kind use it: places, words
    storage::SortedIndex* store =
        nullptr;  // null: cannot be kept up; reads must not use it, writes are refused
    std::unique_ptr<KeyGenerator> generator;  // null with store

    // Operations that read through it, since it was opened. Counted under a shared lock.
    mutable std::atomic<int64_t> uses{0};
    const std::chrono::system_clock::time_point since = std::chrono::system_clock::now();

    std::string fault;  // why no keys can be derived by its definition; empty: they can

    // Reads what the store says of the index; the generator is made once.
    void read(const storage::IndexEntry& entry, int at);
    // Whether a definition asks for the same keys of the same documents. An index of all documents
    // and partial ones may stand side by side on one key.
    bool is_like(bson::Doc definition) const;
    void count_use() const { uses.fetch_add(1, std::memory_order_relaxed); }
};

struct UpdatedRecord {
    storage::RecordId id;
    bool moved = false;
    int keys_changed = 0;  // index entries written
};

class Collection {
  public:
    // `expressions`: see Validator. `log` hears of every change, if it covers it.
    Collection(storage::CollectionStore& store, storage::Durability& durability,
               const query::ExpressionParser* expressions = nullptr, ChangeLog* log = nullptr);
    Collection(const Collection&) = delete;
    Collection& operator=(const Collection&) = delete;

    const std::string& ns() const { return store_.ns(); }
    storage::CollectionStore& store() { return store_; }
    storage::RecordStore& records() { return records_; }
    const std::vector<std::unique_ptr<Index>>& indexes() const { return indexes_; }
    const Index* find_index(std::string_view name) const;
    // Throws base::Error 2 if there are several.
    const Index* find_index_by_key(bson::Doc key_pattern) const;
    const Index* find_index_like(bson::Doc definition) const;
    const Index* id_index() const { return id_index_; }  // null if there is none
    ChangeLog* change_log() const { return log_; }       // null: none hears of its changes
    bool capped() const { return capped_; }
    // shared. The places in the ring of documents of known times. REQUIRES: capped.
    RingMarks& marks() { return *marks_; }
    // Returns the collation of texts where a request names none; null: they are compared by their
    // bytes. Throws base::Error 161 where it is that of another release of the library.
    const std::shared_ptr<const collation::Collator>& collator() const;
    bool has_collation() const { return collator_ != nullptr; }
    // Whether this process has, or had, a collection with one.
    static bool may_have_collators() { return may_have_collators_.load(std::memory_order_relaxed); }
    // The validator of its documents; null: any document is valid. It is asked before insert() and
    // update(), which do not ask it, by those whose documents come from clients.
    const Validator* validator() const { return validator_.get(); }
    // Throws what the store throws if documents cannot be changed, and base::Error 20 if keys of an
    // index cannot be derived, or the log of changes keeps the collection.
    void check_writable() const;
    // Whether documents may be changed under storage::Access::documents; else under `all` only:
    // where the engine does no more, where the server itself reads the documents (system
    // collections), and where a validator has to see one after the other.
    bool allows_concurrent_changes() const {
        return may_change_in_transaction() && validator_ == nullptr;
    }
    // The same for transactions over several requests (storage/transaction.h), each of which asks
    // the validator about documents that it has locked.
    bool may_change_in_transaction() const {
        return records_.allows_concurrent_changes() && !is_system_;
    }
    // Returns a number that is unique in the process; it is a new one when an index went away or
    // the records were rewritten. After releasing the lock an operation looks the collection up
    // again by name and continues only if this is unchanged; otherwise saved cursors may only be
    // destroyed.
    uint64_t incarnation() const { return incarnation_; }

    // Stores a document that is already checked and fixed (query/update/update.h fix_for_insert).
    // Throws base::Error 11000 (with keyPattern/keyValue details), 17280, 10088, 16746, ..., or
    // what the engine throws when the disk is full; then nothing is changed.
    storage::RecordId insert(bson::Doc doc);
    // Works on a full disk.
    void remove(storage::RecordId id);
    // Replaces a document; in place if it fits and re-keys what changed, else moves it. It throws
    // the same errors, and changes all or nothing. `form`: see ChangeLog::updated; empty: the new
    // document.
    UpdatedRecord update(storage::RecordId id, bson::Doc new_doc, bson::Doc form = {});
    // Makes changes of the same size that touch no indexed path: no copy, no re-keying. `form` as
    // above; it may be empty where change_log() is null.
    void patch(storage::RecordId id, std::span<const bson::Patch> patches, bson::Doc form = {});
    // Whether a change at (or below, or above) this dotted path can change index keys.
    bool path_indexed(std::string_view path) const;

    // Stores an entry of the log of changes, as a part of the change that it tells of, which
    // has made room for both. Readers hear of it by announce(). REQUIRES: capped, no indexes.
    storage::RecordId append(bson::Doc entry);
    void announce(const storage::Record& appended);
    // exclusive. Removes the entry that was appended last, and that no reader has seen.
    void take_back(storage::RecordId entry);
    // exclusive. Removes the entries behind that one; who reads them has lost the place.
    void take_back_behind(storage::RecordId entry);
    // exclusive. Removes every entry; who reads the log has lost the place.
    void take_all_back();

    // The requests that wait for the next insert into a capped collection.
    InsertWaiters& waiters() { return waiters_; }

    // exclusive. From now on the index, if it is one of these, counts as one with arrays.
    void expect_arrays(const storage::SortedIndex* store);

    // For Database and index builds --------------------------------------------------------------
    // exclusive. Reads the index list from the store again. `gone`: an index or record positions
    // went away, so saved cursors die. REQUIRES: a WriteUnit.
    void reload_indexes(bool gone);
    // exclusive. Reads from the stored options again. REQUIRES: a WriteUnit.
    void reload_validator();
    // Background builds that have yielded, or may.
    int builds() const { return builds_; }
    void count_build(int by) { builds_ += by; }

  private:
    struct Scratch;
    static Scratch& scratch();

    void unindex(const storage::Record& record);
    void unindex(Index& index, const storage::Record& record);
    int64_t prepare_capped_insert(bson::Doc doc);
    int64_t with_entry(int64_t bytes, int64_t entry_bytes);
    static bson::Doc name_of(bson::Doc doc);
    void insert_keys(storage::WriteUnit& unit, Index& index, const KeySet& keys,
                     storage::RecordId id, size_t& done);
    void plan_change(Index& index, KeyChange& change, bson::Doc before, bson::Doc after,
                     storage::RecordId id) const;
    void check_lengths(const Index& index, const KeySet& keys) const;
    void check_all_lengths(std::span<const KeyChange> changes) const;
    static void change_keys(storage::WriteUnit& unit, Index& index, const KeyChange& change,
                            storage::RecordId from, storage::RecordId to);
    static void check_multikey(const Index& index, const KeySet& keys);
    void note_multikey(Index& index, const KeySet& keys);
    void note_arrays(Index& index);
    void mark_inserted(const storage::Record& record);
    void read_collation();

    storage::CollectionStore& store_;
    storage::Durability& durability_;
    storage::RecordStore& records_;
    const bool capped_;
    const bool is_system_;
    const std::unique_ptr<RingMarks> marks_;  // null: not capped
    std::vector<std::unique_ptr<Index>> indexes_;
    const Index* id_index_ = nullptr;
    uint64_t incarnation_ = 0;
    int builds_ = 0;
    std::vector<std::pair<int64_t, int64_t>> needs_;  // of a capped insert: keys, bytes per index

    InsertWaiters waiters_;
    const Index* faulty_ = nullptr;  // one with a fault, if any has

    ChangeLog* const log_;
    const bool kept_by_log_;  // its own collection
    bool is_appending_ = false;

    const query::ExpressionParser* const expressions_;
    std::unique_ptr<const Validator> validator_;
    static inline std::atomic<bool> may_have_collators_ = false;
    std::shared_ptr<const collation::Collator> collator_;
    std::string collator_fault_;  // why it is not known
};

// The errors of index keys that a document or a build may not have.
[[noreturn]] void throw_duplicate_key(const Index& index, std::string_view ns, bson::Doc key);
[[noreturn]] void throw_key_too_long(int code, const Index& index, std::string_view ns,
                                     bson::Doc key);

}  // namespace catalog
