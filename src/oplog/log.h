// oplog/log.h - the log of writes that others read to follow this server: a capped collection of
// the database `local`, to which every change adds an entry (oplog/entry.h) in its own commit.
//
// The lock that a writer holds includes that of `local` (storage/lock.h), so entries stand in the
// order of their `ts`, and who reads the collection sees no gap that is filled later. `local` and
// system.profile are this server's own and not logged.
//
// Nothing else may write the collection: catalog/ refuses it (ChangeLog::keeps).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "catalog/catalog.h"
#include "catalog/change_log.h"
#include "storage/engine.h"

namespace oplog {

// Where a master keeps its log.
constexpr std::string_view kMasterLog = "local.oplog.$main";

class Log final : public catalog::ChangeLog {
  public:
    // Tells the catalog that this is its log, in the collection `ns` of `local`. REQUIRES: no
    // database has been opened by the catalog; this outlives it.
    Log(storage::Engine& engine, catalog::Catalog& catalog, std::string ns);
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // global W, once, before anything is written. Makes the collection of `bytes` where it is
    // missing; one that is there keeps its size. Ends the drop of a database that a stop of the
    // server cut short. Throws base::Error where the collection is not one that a log can be.
    void open(int64_t bytes);

    bool covers(std::string_view ns) const override;
    bool keeps(std::string_view ns) const override { return ns == ns_; }
    // Throws base::Error 10334 for an entry that the collection could not hold, 8 once an entry
    // could not be written: from then on nothing may change that the log would lack.
    void prepare(int64_t change_bytes, int64_t entry_bytes) override;
    void inserted(std::string_view ns, bson::Doc doc) override;
    void removed(std::string_view ns, bson::Doc which) override;
    void updated(std::string_view ns, bson::Doc which, bson::Doc form) override;
    void index_built(std::string_view ns, bson::Doc spec) override;
    void command(std::string_view db, bson::Doc command) override;

  private:
    catalog::Collection& collection();
    void append(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2 = nullptr);
    void read_last();

    storage::Engine& engine_;
    catalog::Catalog& catalog_;
    const std::string ns_;
    int64_t entry_bytes_max_ = 0;
    // Guarded by the lock of `local`, exclusive:
    uint64_t last_ts_ = 0;
    bool is_broken_ = false;  // an entry is missing
    bson::Buffer buffer_;
};

}  // namespace oplog
