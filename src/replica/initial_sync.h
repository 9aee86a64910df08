// replica/initial_sync.h - the first copy of a primary's data, for a member that has none.
//
// Collections are copied one after the other while the primary goes on writing, without indexes
// but those on `_id`. Then everything that its log tells of that time is applied by
// oplog::Manner::again, up to an entry that is no older than what was copied last; only then the
// data is that of one moment, and indexes can be built. The own log ends with that entry, and has
// what the primary's log tells of the time before it in which clients may send a write again
// (oplog/retries.h): should this member become the primary, it knows what has been done.
//
// Collections may get other names, go and come during it. For each collection that was copied the
// two entries of the log are known between which it was read: entries before them have nothing to
// do with it, entries behind them are applied; where another collection got its name between the
// two, it is not known which of them was read. Such a collection is copied once more when all else
// has been applied, again and again if need be: one that always has another name before it is
// copied keeps the copy from its end.
//
// An initial sync that does not come to its end is begun anew: the database `local` keeps a mark of
// it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "oplog/apply.h"
#include "oplog/log.h"
#include "replica/sync_source.h"

namespace replica {

class InitialSync {
  public:
    // The arguments outlive this object.
    InitialSync(catalog::Catalog& catalog, oplog::Log& log, oplog::Applier& applier,
                SyncSource& source)
        : catalog_(catalog), log_(log), applier_(applier), source_(source) {}

    // No lock. Drops every database but `local` and copies those of the source. Throws base::Error:
    // what the source does, what changes throw, 20 where the log of the source does not reach back
    // far enough, or tells of what a clone cannot follow: then the sync is to be begun anew.
    void run();

    // Lock: at least shared on `local`. Returns whether an initial sync was begun, and not ended.
    static bool is_under_way(catalog::Catalog& catalog);
    // No lock. From now on one is, as long as the other call has not been made.
    static void begin_copy(catalog::Catalog& catalog);
    static void end_copy(catalog::Catalog& catalog, oplog::Position end);

  private:
    void drop_all();
    // A collection that is here as it was at the primary at some moment between two entries: all of
    // the log up to `since` is in it, and of the rest up to `until` some may be.
    struct Part {
        oplog::Position since;
        oplog::Position until;
        std::string read_as;     // its name then; empty: all of it came by the log
        bool was_there = false;  // something was read, and all that was is of one collection
    };

    // The definitions of indexes, by collection and by name.
    using Indexes = std::map<std::string, std::map<std::string, bson::Object>>;

    void copy_database(const std::string& db, const std::set<std::string>* only);
    void copy_collection(const std::string& ns, bson::Doc options, oplog::Position since);
    bson::Object copy_missing(const bson::Object& last);
    oplog::Position newest();
    static void keep_index(bson::Doc spec, Indexes& indexes);
    void forget(const std::string& ns);
    void miss(const std::string& ns);
    void doubt(const std::string& name, oplog::Position at);
    bool has(const std::string& ns, oplog::Position at) const;
    bool is_later(const std::string& ns, oplog::Position at) const;
    void apply(bson::Doc entry);
    void apply_command(bson::Doc entry, oplog::Position at);
    void drop_database(bson::Doc entry, const std::string& db, oplog::Position at);
    void rename(const std::string& from, bson::Doc command, oplog::Position at);
    bson::Object catch_up(const bson::Object& first);
    void clear_log();
    void copy_log(oplog::Position end);
    void build_indexes();
    void perform(std::string_view op, std::string_view ns, bson::Doc o);
    static void set_mark(catalog::Catalog& catalog, bson::Doc mark);

    catalog::Catalog& catalog_;
    oplog::Log& log_;
    oplog::Applier& applier_;
    SyncSource& source_;
    Indexes indexes_;                    // to be built at the end
    std::map<std::string, Part> parts_;  // all collections that are here
    // Names that collections of the primary have, or had, and none that is here: to be copied.
    std::set<std::string> missing_;
    oplog::Position end_;  // no earlier than what was copied last
};

}  // namespace replica
