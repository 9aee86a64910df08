// storage/wiredtiger/session.h - the rows of the database as one thread sees them, by a session of
// the library.
//
// A snapshot is a transaction of the library that changes nothing. If the library rolls it back, as
// it may at any call when its cache is full, the rows as they were then are lost: the call throws
// base::Error 112. Outside of it the session sees what is committed by then, or what was when the
// first of its cursors that are at a row came there.
//
// apply() is a transaction too, which is begun and committed in the call: one with changes in it
// that waits keeps every other from room in the cache. If the library rolls it back, the session
// makes its changes again.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "storage/kv/large_row.h"
#include "storage/wiredtiger/connection.h"
#include "storage/wiredtiger/cursor_handle.h"
#include "storage/wiredtiger/open.h"
#include "storage/wiredtiger/tables.h"

namespace wt {

class Session final : public kv::Session {
  public:
    // Called at each commit, with its bytes.
    using Committed = std::function<void(size_t bytes)>;

    Session(const Connection& connection, const Tables& tables, const kv::Host& host,
            const Faults& faults, Committed committed)
        : connection_(connection),
          tables_(tables),
          host_(host),
          faults_(faults),
          committed_(std::move(committed)),
          session_(connection.open_session()) {}

    void begin_snapshot() override;
    void end_snapshot() override;
    bool get(kv::Table table, kv::Bytes key, kv::Bytes* value) override;
    std::optional<size_t> size_of(kv::Table table, kv::Bytes key) override;
    std::unique_ptr<kv::Cursor> cursor(kv::Table table) override;
    void apply(kv::Batch& changes) override;
    void end_cursors() override;

    // A cursor, which has a place in the library's session until it goes or is ended.
    class EndedWithTurn {
      public:
        virtual void end() = 0;

      protected:
        ~EndedWithTurn() = default;
    };
    void note(EndedWithTurn* cursor) { cursors_.push_back(cursor); }
    void forget(EndedWithTurn* cursor);

    // Returns a cursor of the library; null if there is no such table.
    CursorHandle open(kv::Table table) const;
    // A row of that size has been read: memory of a large one is given back at the end of the turn.
    void note_read(size_t bytes) { has_read_large_ |= kv::LargeRow::is_large(bytes); }
    // Counts the times at which all cursors have lost their places.
    uint64_t resets() const { return resets_; }
    const kv::Host& host() const { return host_; }
    std::unique_lock<std::mutex> take_read_turn() const { return connection_.read_turns().take(); }
    // Calls until the library has done it, and returns its answer.
    template <typename Call>
    int call(const Call& call) {
        for (int tries = 0;; ++tries) {
            const int status = call_once(call);
            if (status != WT_ROLLBACK) return status;
            if (has_snapshot_) fail_snapshot();
            lose_places();
            back_off(tries);
        }
    }

  private:
    template <typename Call>
    int call_once(const Call& call) const {
        return faults_.rolls_back && faults_.rolls_back() ? WT_ROLLBACK : call();
    }
    // Gives the library's threads time to make room in the cache.
    static void back_off(int tries);

    // Returns the value of a row, if it is there; it is the library's until `cursor` moves.
    std::optional<WT_ITEM> find(WT_CURSOR* cursor, kv::Bytes key);
    // Returns the answer of the library to the changes, or to the commit.
    int try_to_apply(const kv::Batch& changes);
    void begin_transaction() const;
    void lose_places();
    void give_buffers_back();
    [[noreturn]] void fail_snapshot();

    const Connection& connection_;
    const Tables& tables_;
    const kv::Host& host_;
    const Faults& faults_;
    const Committed committed_;
    const SessionHandle session_;
    bool has_snapshot_ = false;
    std::string found_;            // by get()
    bool has_read_large_ = false;  // in this turn
    uint64_t resets_ = 0;
    std::vector<EndedWithTurn*> cursors_;
};

}  // namespace wt
