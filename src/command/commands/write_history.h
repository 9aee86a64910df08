// command/commands/write_history.h - what the statements of a write have done that comes again
// (command/request/retryable_write.h): answers as they were given, or would have been.
#pragma once

#include <cstdint>
#include <map>

#include "command/context/client.h"
#include "command/write/write_ops.h"
#include "oplog/retries.h"

namespace command {

// Whether the statement of an insert or a delete, by an entry of kind `op`, is done already. No
// turn: it is not. Throws base::Error 40638 where another kind of write has been sent by its
// number.
bool is_done(oplog::Retries::Turn* turn, int32_t statement, char op);

// The outcome of the statements of one update or findAndModify that came before. An outcome that is
// more than a count is read from the log.
class WriteHistory {
  public:
    WriteHistory(Client& client, oplog::Retries::Turn* turn) : client_(client), turn_(turn) {}

    // Returns nothing where the statement is still to be done. Throws base::Error 40638, and 217
    // where its entry is not in the log any more. REQUIRES: no lock is held.
    std::optional<UpdateOutcome> update(int32_t statement);

    struct Found {
        char op = 'n';          // of the change
        bson::Object upserted;  // {"": _id} if it inserted the document
        bson::Object shown;     // empty: nothing
        bool has_shown = false;
    };
    std::optional<Found> find_and_modify();

  private:
    [[noreturn]] static void fail_gone();
    template <typename Visit>
    void each_entry(uint64_t from, Visit&& visit);
    void read_upserts();

    Client& client_;
    oplog::Retries::Turn* const turn_;
    bool has_read_ = false;
    std::map<int32_t, bson::Object> upserted_;  // by statement
};

}  // namespace command
