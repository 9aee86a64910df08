// catalog/catalog.h - databases and their collections by name: opening, creating, dropping,
// renaming, and the rules that names, collection options and index definitions must satisfy.
//
// This room keeps records and indexes in step (catalog/collection.h) over whatever storage engine
// it is given. It is called by query/ and command/ with the locks named at each function; it takes
// none of its own except a mutex around the table of databases.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/dcheck.h"
#include "bson/builder.h"
#include "catalog/change_log.h"
#include "catalog/collection.h"
#include "catalog/names.h"
#include "catalog/views.h"
#include "sched/yield_point.h"
#include "storage/engine.h"

namespace catalog {

class ListingStore;

// The result of a build or a drop of indexes, for the reply.
struct IndexChange {
    int before = 0;
    int after = 0;
};

class Database {
  public:
    Database(storage::Engine& engine, storage::DatabaseStore& store,
             const query::ExpressionParser* expressions, ChangeLog* log = nullptr);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    const std::string& name() const { return store_.name(); }
    storage::DatabaseStore& store() { return store_; }
    // False when the engine can only read it.
    bool writable() const { return store_.writable(); }

    // shared. Null if there is none. `ns` is the full name. Valid until drop, rename or close.
    Collection* collection(std::string_view ns) const {
        DCHECK(storage::LockManager::may_read(name()));
        const auto found = collections_.find(ns);
        return found == collections_.end() ? nullptr : found->second.get();
    }
    // shared. Full names in the engine's order.
    std::vector<std::string> collection_names() const { return store_.collections(); }

    // shared. Null if there is none: a collection of the name, which an old server may have made,
    // goes before it. Valid until it is put or dropped.
    const View* view(std::string_view ns) const {
        return views_.empty() || collection(ns) != nullptr ? nullptr : views_.find(ns);
    }
    // shared. Returns the full names, sorted.
    std::vector<std::string> view_names() const;
    // exclusive. Makes a view, or changes it. Throws base::Error 48 (there is a collection), 72,
    // 73. Catalog::put_view calls it, and its caller knows whether the view stands on itself.
    void put_view(std::string_view ns, const View& view);
    // exclusive. REQUIRES: there is one.
    void drop_view(std::string_view ns);
    // exclusive. Catalog::reload_views calls it.
    void reload_views();

    // shared. Names of everything that holds documents, the engine's own collections included.
    std::vector<std::string> all_namespaces() const;

    // exclusive. `options`: the fields of the create command without its name and the generic
    // fields. Throws base::Error 48 (exists), 73, 2, 14832, 15888.
    Collection& create(std::string_view ns, bson::Doc options);
    // exclusive. The collection, made with these where it is missing (implicit creation).
    Collection& get_or_create(std::string_view ns, bson::Doc options = {});
    // exclusive. Throws base::Error 26, 20 (system collections).
    void drop(std::string_view ns);
    // exclusive. Gives a collection another name within this database. The target must not exist.
    // Throws base::Error 26, 48, 73, 20 (system.indexes and system.namespaces).
    void rename(std::string_view from, std::string_view to, bool stay_temp);

    // exclusive. Does the same, and the target may exist: then its place is taken. If it throws,
    // nothing has changed.
    void replace(std::string_view from, std::string_view to, bool stay_temp);
    // Another name, which no collection has, no longer than `ns`: valid wherever that one is. Never
    // that of a system collection, which could not be dropped.
    std::string unused_name(std::string_view ns) const;

    // shared. Whether create_index would build something. Throws what it throws before it builds.
    bool index_needed(const Collection& collection, bson::Doc spec) const;
    // exclusive. Checks the definition and builds the index; an equal one that exists already is no
    // error. While the build of a `background: true` index yields at `yield_point`, the collection
    // keeps the index up with its documents, and everything that would take collection, index or
    // database away throws base::Error 12586. Returns whether an index was built. Throws
    // base::Error 67, 85, 86, 11000, 17280, ...; then the index does not exist. Long: commits and
    // reports progress, checks for interruption.
    bool create_index(Collection& collection, bson::Doc spec,
                      sched::YieldPoint* yield_point = nullptr);
    // exclusive. `which`: a name, "*" (all but _id) or a key pattern. Throws base::Error 27, 72.
    IndexChange drop_indexes(Collection& collection, const bson::Element& which);
    // exclusive. Drops all indexes and builds them again.
    IndexChange rebuild_indexes(Collection& collection);
    // exclusive. Rewrites the records into new extents and rebuilds the indexes (compact).
    void compact(Collection& collection, const bson::Object& command, bson::Builder& out);
    // exclusive. Does what storage::DatabaseStore says.
    void repair();
    // exclusive. Replaces the collection by one with the documents that can still be read, and
    // builds its indexes again; logs what is lost. Throws base::Error when the collection must stay
    // as it is.
    void repair(std::string_view ns);
    // exclusive. Removes all documents of a capped collection.
    void truncate(Collection& collection);
    // exclusive. Changes a number of the stored definition, or adds it; its type stays, integers
    // are clamped. Throws base::Error 2 for what is no number. collMod calls it for
    // expireAfterSeconds.
    void set_index_number(Collection& collection, const Index& index, std::string_view field,
                          int64_t value);
    // exclusive. Takes validator, validationLevel and validationAction of `change`; the others
    // stay. Throws what check_validation() does.
    void change_validation(Collection& collection, bson::Doc change);
    // exclusive. See storage::CollectionStore.
    void set_user_flags(Collection& collection, int32_t flags);
    // exclusive. Throws base::Error 2 for the index on _id.
    void hide_index(Collection& collection, const Index& index, bool hidden);

    // shared. Throws base::Error 12586 while a background build runs in the collection, or in any
    // of this database.
    void refuse_while_building(const Collection& collection) const;
    void refuse_while_building() const;

    // exclusive (start-up). Drops the collections that were created as temporary (mmapv1 spec 7.1).
    void drop_temporary();
    // exclusive (start-up). Adds the simple collation to definitions that an earlier version stored
    // without it where the collection has another (index_spec.h).
    void complete_definitions();
    // exclusive (start-up). Finishes or removes index builds that a stop of the server interrupted.
    void recover_interrupted_builds(bool retry);

  private:
    using Collections = std::map<std::string, std::unique_ptr<Collection>, std::less<>>;

    ChangeLog* log_of(std::string_view ns) const;
    bson::Object normalised(const Collection& collection, bson::Doc spec) const;
    void change_index(Collection& collection, const Index& index, bson::Doc spec,
                      std::string_view field);
    void move(std::string_view from, std::string_view to, bool stay_temp);
    Collections::iterator find_to_drop(std::string_view ns);
    void take_off(Collections::iterator at);
    Collection& adopt(storage::CollectionStore& store);
    void adopt_system_collections();
    void take_away(Collections::iterator at, const std::function<void()>& work);
    void put_in_place(const std::string& temporary, const std::string& ns,
                      const std::string& aside);

    storage::Engine& engine_;
    storage::DatabaseStore& store_;
    const query::ExpressionParser* const expressions_;
    ChangeLog* const log_;
    std::vector<std::unique_ptr<ListingStore>> listings_;  // where the engine has none
    Collections collections_;
    Views views_;
};

class Catalog {
  public:
    // `expressions`: see Validator.
    explicit Catalog(storage::Engine& engine, const query::ExpressionParser* expressions = nullptr);
    ~Catalog();
    Catalog(const Catalog&) = delete;
    Catalog& operator=(const Catalog&) = delete;

    storage::Engine& engine() { return engine_; }
    const query::ExpressionParser* expressions() const { return expressions_; }
    // Called at the start, before a database is opened: every change gets an entry in `log`, which
    // outlives this.
    void set_change_log(ChangeLog* log);
    ChangeLog* change_log() const { return log_; }  // null: there is none

    // Lock: at least shared on the database. Returns null if the database does not exist.
    Database* database(std::string_view db);
    // exclusive. Throws base::Error 73 (bad name), 13297 (differs only in case from another).
    Database& get_or_create(std::string_view db);
    // Lock: at least shared on the database. Returns the collection, or null if it or its database
    // is missing.
    Collection* collection(std::string_view ns);
    // exclusive: the collection, both made where missing; `options` are for Database::create.
    Collection& collection_for_write(std::string_view ns, bson::Doc options = {});
    // Called at the start of a member of a set: collections that requests make get UUIDs
    // (catalog/uuid.h). Without it the same requests leave the bytes that they always left.
    void give_uuids() { gives_uuids_ = true; }
    bool gives_uuids() const { return gives_uuids_; }
    // exclusive. See Database.
    void put_view(Database& db, std::string_view ns, const View& view);
    // exclusive. The documents of system.views were changed as such.
    void reload_views(Database& db);
    // Any thread. False: no database that has been opened has ever had a view.
    bool may_have_views() const { return may_have_views_.load(std::memory_order_relaxed); }
    // Returns the names of all databases, sorted. Lock: any.
    std::vector<std::string> database_names();
    // global W. Both throw base::Error 12586 while an index is built in the database.
    std::unique_ptr<storage::Remains> drop_database(std::string_view db);
    // global W. Does the same without an entry in the log of changes, which has one.
    std::unique_ptr<storage::Remains> drop_database_again(std::string_view db);
    // global W. See storage::Engine.
    std::unique_ptr<storage::Remains> finish_drop(std::string_view db) {
        return engine_.finish_drop(db);
    }
    void close_database(std::string_view db);

  private:
    void forget(std::string_view db);                                       // mutex_ held
    Database& keep(std::string_view db, std::unique_ptr<Database> opened);  // mutex_ held

    storage::Engine& engine_;
    const query::ExpressionParser* const expressions_;
    ChangeLog* log_ = nullptr;
    std::shared_mutex mutex_;
    std::map<std::string, std::unique_ptr<Database>, std::less<>> databases_;
    std::atomic<bool> may_have_views_{false};
    bool gives_uuids_ = false;  // changed before the first request
};

}  // namespace catalog
