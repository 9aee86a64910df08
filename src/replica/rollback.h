// replica/rollback.h - takes back what the end of this member's log tells of and its primary's log
// does not: another member was elected before the set had it.
//
// All that is lost here is in files first: the entries, and the documents that they touched as they
// are now, in the form that bsondump and mongorestore read. Then each such document becomes what it
// is at the primary, the entries are removed from the log, and the primary's are applied from the
// last common one on, up to one that is no older than what was fetched; so the data is that of one
// moment again. Where that would be more than documents (a command is among the entries, a
// collection got another name) all data is copied anew instead.
//
// From its beginning to its end the directory has the mark of an initial sync: what is cut short is
// a copy that is to be begun anew.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "oplog/apply.h"
#include "oplog/log.h"
#include "replica/sync_source.h"

namespace replica {

class Rollback {
  public:
    // `folder`: where the files go. The arguments outlive this object.
    Rollback(catalog::Catalog& catalog, oplog::Log& log, oplog::Applier& applier,
             SyncSource& source, std::string folder)
        : catalog_(catalog),
          log_(log),
          applier_(applier),
          source_(source),
          folder_(std::move(folder)) {}

    // No lock. The last entry that both logs have. Throws base::Error 20 where there is none, or
    // what is to be taken back is too much; and what the source does.
    oplog::Position find_common();
    // No lock, after find_common(), while nothing is applied. False: all data is to be copied anew.
    // Throws what the source and changes do: then, too.
    bool run();
    // How many entries of the log are taken back.
    size_t entries() const { return tail_.size(); }

  private:
    struct Touched {
        std::string ns;
        bson::Object id;  // {_id}
    };

    bool read_own(oplog::Position before, size_t most);
    bool is_of_source(bson::Doc entry);
    bool find_touched();
    bson::Object own_version(const Touched& touched) const;
    void save();
    void write_file(const std::string& name, const std::vector<bson::Object>& documents);
    void fetch();
    bool apply_on();
    void cut_log();

    catalog::Catalog& catalog_;
    oplog::Log& log_;
    oplog::Applier& applier_;
    SyncSource& source_;
    const std::string folder_;
    int32_t rollbacks_ = 0;           // of the source, when the common entry was looked for
    std::vector<bson::Object> tail_;  // the own entries behind the common one, the last one first
    bson::Object common_;
    std::vector<Touched> touched_;
};

}  // namespace replica
