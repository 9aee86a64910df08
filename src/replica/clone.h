// replica/clone.h - the first copy of a primary's data, for a member that has none.
//
// Collections are copied one after the other while the primary goes on writing, without indexes
// but those on `_id`. Then everything that its log tells of that time is applied by
// oplog::Manner::again, up to an entry that is no older than what was copied last; only then the
// data is that of one moment, and indexes can be built. The own log ends with that entry, and has
// what the primary's log tells of the time before it in which clients may send a write again
// (oplog/retries.h): should this member become the primary, it knows what has been done.
//
// A clone that does not come to its end is begun anew: the database `local` keeps a mark of it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "oplog/apply.h"
#include "oplog/log.h"
#include "replica/source.h"

namespace replica {

class Clone {
  public:
    // All outlive this.
    Clone(catalog::Catalog& catalog, oplog::Log& log, oplog::Applier& applier, Source& source)
        : catalog_(catalog), log_(log), applier_(applier), source_(source) {}

    // No lock. What there was, but `local`, goes. Throws base::Error: what the source does, what
    // changes throw, 20 where the log of the source tells of what a clone cannot follow (an index
    // changed, a collection renamed that was there before): then it is to be begun anew.
    void run();

    // At least shared on `local`. Whether one was begun, and not ended.
    static bool is_under_way(catalog::Catalog& catalog);

  private:
    void drop_all();
    void copy_database(const std::string& db);
    void apply(bson::Doc entry);
    void apply_command(bson::Doc entry);
    bson::Object catch_up(const bson::Object& first);
    void clear_log();
    void copy_log(oplog::Position end);
    void build_indexes();
    void perform(std::string_view op, std::string_view ns, bson::Doc o);
    void set_mark(bool under_way);

    catalog::Catalog& catalog_;
    oplog::Log& log_;
    oplog::Applier& applier_;
    Source& source_;
    // To be built at the end, by collection and name.
    std::map<std::string, std::map<std::string, bson::Object>> indexes_;
    std::set<std::string> made_since_;  // collections that entries of the copy's time have made
    bool fetched_ = false;              // a document, since the end was looked up
    oplog::Position end_;
};

}  // namespace replica
