// oplog/log.h - the log of writes that others read to follow this server: a capped collection of
// the database `local`, to which every change adds an entry (oplog/entry.h) in its own commit.
//
// The lock that a writer holds includes that of `local` (storage/lock.h). Who has it alone writes
// entries at once. Threads that change documents concurrently make theirs with the change, and give
// them their place, `ts` and `h` in the commit, which is one thread's at a time
// (storage/durability.h). So entries stand in the order of their `ts`, and who reads the collection
// sees no gap that is filled later. `local` and system.profile are this server's own and not
// logged.
//
// Nothing else may write the collection: catalog/ refuses it (ChangeLog::keeps).
//
// Until open() there is no log, and changes get no entries: a member of a set that has not been
// initiated is followed by no other.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "catalog/catalog.h"
#include "catalog/change_log.h"
#include "oplog/entry.h"
#include "oplog/retries.h"
#include "oplog/statement.h"
#include "oplog/transaction_entries.h"
#include "storage/engine.h"
#include "storage/lock.h"

namespace oplog {

class ForeignChange;

// The collections in which a master keeps its log, and a member of a replica set.
constexpr std::string_view kMasterLog = "local.oplog.$main";
constexpr std::string_view kSetLog = "local.oplog.rs";

class Log final : public catalog::ChangeLog {
  public:
    // Tells the catalog that this is its log, in the collection of that form. REQUIRES: no
    // database has been opened by the catalog; this outlives it.
    Log(storage::Engine& engine, catalog::Catalog& catalog, Form form);
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // global W, once; from now on every change gets an entry. Makes the collection of `bytes` where
    // it is missing; one that is there keeps its size. Ends the drop of a database that a stop of
    // the server cut short. A set's reads the writes that clients may send again, from the entries
    // of the last Retries::kKept, at most kRetriesReadBytes of them; those of entries to come it
    // keeps as they are written. Throws base::Error where the collection is not one that a log can
    // be.
    void open(int64_t bytes);
    // Any thread.
    bool is_open() const { return ring_.load(std::memory_order_acquire) != nullptr; }
    // A set only, global W, after open(): the entries to come are those of `term`, written by the
    // member of that id. The first one is an `n` with the document `note`. Throws base::Error where
    // there is no room for it: all is as before then.
    void begin_term(int64_t term, int32_t member, bson::Doc note);
    // A set only, global W, after open(): the primary is another member, until begin_term(). This
    // server then makes only the changes that the primary has made (ForeignChange); any other
    // change fails, by prepare().
    void follow() {
        follows_.store(true, std::memory_order_relaxed);
        shown_ts_ = 0;
    }
    // A set only, global W: takes follow() back, where no entry has come since.
    void go_on() { follows_.store(false, std::memory_order_relaxed); }
    // exclusive on `local`, after open(), while it follows: as if there had been no entry, for a
    // copy that begins anew.
    void clear();
    // exclusive on `local`, after open(), while it follows: as if the entries behind that one,
    // which is there, had never been.
    void cut_behind(Position position);
    // exclusive on `local`, after open(). An `n` with the document `note`.
    void add_note(bson::Doc note);
    // Returns `h` of the last entry. Lock: at least shared on `local`.
    int64_t last_hash() const { return end_.hash; }
    // The last entry. Any thread; while a change is under way its entry may be it already.
    Position last() const {
        return {term_.load(std::memory_order_relaxed), last_ts_.load(std::memory_order_relaxed)};
    }
    // The last entry, once the changes that are under way are over: no reader has seen one with a
    // later entry. Lock: at least shared on `local`.
    Position last_settled() const;
    // The last entry of a change that the calling thread has made since forget_written(), and has
    // given its locks up since; zeros: it has made none.
    static Position written() { return t_writer.written; }
    static void forget_written() { t_writer.written = {}; }
    Retries& retries() { return retries_; }
    bool covers(std::string_view ns) const override;
    bool keeps(std::string_view ns) const override { return ns == ns_; }
    // Throws base::Error 10334 for an entry that the collection could not hold, 8 once an entry
    // could not be written: from then on nothing may change that the log would lack. 11602 for
    // what was begun before this member stopped being the primary.
    int64_t prepare(int64_t entry_bytes) override;
    void inserted(std::string_view ns, bson::Doc doc) override;
    void removed(std::string_view ns, bson::Doc which) override;
    void updated(std::string_view ns, bson::Doc which, bson::Doc form) override;
    void index_built(std::string_view ns, bson::Doc spec) override;
    void command(std::string_view db, bson::Doc command, const bson::Doc* beside) override;
    // Writes the entry of a transaction over several requests, in the commit of its changes. The
    // thread has a Statement for it. REQUIRES: prepare() was called for it.
    void transaction(bson::Doc command) { changed('c', "admin.$cmd", command); }
    void take_command_back() override;

  private:
    friend class ForeignChange;
    class LateEntries;
    struct End {
        Position position;
        int64_t hash = 0;
    };

    static constexpr int64_t kRetriesReadBytes = 256 << 20;

    // Writes the entry of a change of a document.
    void changed(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2 = nullptr) {
        if (TransactionEntries* const entries = t_writer.transaction)
            return entries->add(op, ns, o, o2);
        if (storage::LockManager::is_concurrent()) return changed_late(op, ns, o, o2);
        if (Statement* const statement = t_writer.statement)
            return changed_by(*statement, op, ns, o, o2);
        append(op, ns, o, o2);
    }
    void changed_by(Statement& statement, char op, std::string_view ns, bson::Doc o,
                    const bson::Doc* o2);
    void changed_late(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2);
    void append(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2 = nullptr,
                const Statement* statement = nullptr);
    Entry entry(char op, std::string_view ns, bson::Doc o, const bson::Doc* o2,
                const Statement* statement) const;
    End next_end(int64_t now_ms) const;
    void check_entry(int64_t bytes) const;
    bool store(bson::Doc entry, const End& end);
    storage::RecordId put(bson::Doc entry);
    void set_end(const End& end);
    void show(const Position& last);
    void read_last();
    void read_retries();
    void find_statement(bson::Doc entry);

    storage::Engine& engine_;
    catalog::Catalog& catalog_;
    const Form form_;
    const std::string ns_;
    // The collection; null: the log is not open. It stays where it is, since catalog/ lets nothing
    // else drop or move it.
    std::atomic<catalog::Collection*> ring_{nullptr};
    int64_t entry_bytes_max_ = 0;
    // Changed under the lock of `local`, exclusive, or in a commit. The first two are end_ for any
    // thread; of concurrent changes once they are committed.
    std::atomic<uint64_t> last_ts_{0};
    std::atomic<int64_t> term_{0};
    // The ts of the last entry that is written; others may see its change before last_ts_.
    std::atomic<uint64_t> written_ts_{0};
    End end_;
    End before_;  // the last entry
    std::atomic<bool> follows_{false};
    int32_t member_ = 0;
    storage::RecordId last_entry_;        // written since open()
    std::atomic<bool> is_broken_{false};  // an entry is missing
    bson::Buffer buffer_;
    Retries retries_;
    // What the last entry that was found shows of the next one: its `ts`; 0: nothing.
    uint64_t shown_ts_ = 0;
    bool has_lost_found_ = false;  // an entry has been taken back whose statement was found
};

// While it lives, changes by this thread are those that another member has made before: its entry
// stands in the log instead of one of our own, in the commit of the first of them, or none where
// the changes are a copy of its data. If a thread has several, the last one counts.
class ForeignChange {
  public:
    // A copy.
    explicit ForeignChange(Log& log);
    // The changes are those of `entry`, which outlives this. Throws base::Error 20 unless it comes
    // after the last one.
    ForeignChange(Log& log, bson::Doc entry);
    ~ForeignChange();
    ForeignChange(const ForeignChange&) = delete;
    ForeignChange& operator=(const ForeignChange&) = delete;

    // No lock, or one under which `local` may be written. The change that it tells of is done:
    // writes the entry, unless a change has brought it along. Throws what Log::prepare does.
    void finish();

  private:
    friend class Log;
    static ForeignChange* of_this_thread(const Log& log);
    bool may_write() const;
    void write();

    Log& log_;
    const bson::Doc entry_;
    const bool is_copy_;
    ForeignChange* const outer_;
    bool is_written_ = false;
};

}  // namespace oplog
