// oplog/apply.h - doing again what an entry of a log of writes tells of (oplog/entry.h): how one
// member follows another.
//
// Documents, indexes and new collections are changed here, each entry under the lock of its
// database. The other commands are the caller's to run, who knows what they end beside: cursors,
// counters.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/view.h"
#include "catalog/catalog.h"
#include "oplog/entry.h"

namespace oplog {

enum class Manner : bool {
    // The data is what it was before the entry: whatever differs is an error.
    exact,
    // The data is that of some moment after the first entry to be applied, and entries are applied
    // from there on to a moment that is no earlier: then it is that moment's. Until then it may be
    // that of none, and fields of documents may end in another order (query/update/idempotent.h).
    again,
};

enum class Applied : bool {
    done,
    // Manner::again: there is no document to be updated. A later entry removes it, or it was not
    // copied.
    lacks_document,
};

// The operators of an update's entry, without what says in which form they are. Throws base::Error
// 115 for a form of later servers.
bson::Object operators_of(bson::Doc o);

// Whether a command fails this way when its work is done already, or undone by a later entry.
bool may_be_over(const base::Error& error);

// One thread at a time may use it.
class Applier {
  public:
    // Runs a command, as a client would send it to that database; no lock is held. Throws the
    // base::Error by which it fails.
    using RunCommand = std::function<void(std::string_view db, bson::Doc command)>;
    Applier(catalog::Catalog& catalog, RunCommand run) : catalog_(catalog), run_(std::move(run)) {}

    // No lock. Throws base::Error: 2 for what is no entry, 115 for one in a form of later servers,
    // 20 for one of the database `local`; by Manner::exact 47 where there is no document to be
    // changed, 26 where there is no collection; and what a change itself throws. If it throws,
    // nothing has been changed. The changes of a transaction are made under W, as one.
    Applied apply(bson::Doc entry, Manner manner);
    // The database of which an entry changes one document; empty: it tells of something else.
    static std::string_view changed_database(bson::Doc entry);
    // The same for such an entry. Lock: exclusive on that database.
    Applied apply_locked(bson::Doc entry, Manner manner);
    // An array of documents of a collection, which is there: each is inserted, or takes the place
    // of that with its _id. No lock.
    void copy(std::string_view ns, bson::Doc batch);

  private:
    Applied change(const EntryFields& told, Manner manner);
    Applied change_locked(const EntryFields& told, Manner manner);
    void change_together(const EntryFields& all, Manner manner);
    void insert(catalog::Collection& collection, bson::Doc doc, Manner manner);
    Applied update(catalog::Collection& collection, const EntryFields& told, Manner manner);
    void operate(catalog::Collection& collection, storage::RecordId id, bson::Doc operators);
    void command(const EntryFields& told, Manner manner);

    catalog::Catalog& catalog_;
    const RunCommand run_;
};

}  // namespace oplog
