// oplog/statement.h - a mark on the thread: what it changes belongs to a statement that its client
// may send again. The log (oplog/log.h) writes that into the entry of the change, and tells the
// session's Turn; so both are committed with it.
#pragma once

#include "base/dcheck.h"
#include "oplog/entry.h"
#include "oplog/retries.h"

namespace oplog {

class ForeignChange;
class Statement;
class TransactionEntries;

// The marks of a thread that writes: what its changes belong to, and the entries that they got.
struct Writer {
    Statement* statement = nullptr;    // null: of no statement
    ForeignChange* foreign = nullptr;  // the last one; null: the changes are this server's own
    // The changes belong to this transaction over several requests; null: to none.
    TransactionEntries* transaction = nullptr;
    Position written;  // see Log::written()
};
inline constinit thread_local Writer t_writer;

// A statement changes one document, or none.
class Statement {
  public:
    // No turn: nothing is marked.
    Statement(Retries::Turn* turn, int32_t number) : turn_(turn), number_(number) {
        DCHECK(t_writer.statement == nullptr);
        if (turn != nullptr) t_writer.statement = this;
    }
    ~Statement() {
        if (turn_ != nullptr) t_writer.statement = nullptr;
    }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    bool has_turn() const { return turn_ != nullptr; }
    Retries::Turn& turn() const { return *turn_; }
    int32_t number() const { return number_; }

    // Takes the document of the change that the client is shown, before the log prepares for the
    // change: an entry of its own keeps it. The document lives until the change is made.
    void show(bson::Doc shown) {
        shown_ = shown;
        shows_ = true;
    }
    const bson::Doc* shown() const { return shows_ ? &shown_ : nullptr; }

  private:
    Retries::Turn* const turn_;
    const int32_t number_;
    bson::Doc shown_;
    bool shows_ = false;
};

}  // namespace oplog
