// storage/wiredtiger/session.h - rows as one thread sees them, by a session of the library.
//
// The first change begins a transaction of the library, which commit() ends. The library may roll a
// transaction back at any call, when its cache is full. The session then makes all its changes, of
// which it has a copy, again: no other session has changed these rows.
//
// A snapshot is a second session of the library, in a transaction with a snapshot, which changes
// nothing. If the library rolls that one back, the rows as they were then are lost: the call throws
// base::Error 112. There are two because a transaction takes the isolation of its session for free,
// and reads its own in 8,000 instructions.
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
          session_(connection.open_session(Isolation::read_committed)) {}

    void begin_snapshot() override;
    void end_snapshot() override;
    bool get(kv::Table table, kv::Bytes key, kv::Bytes* value) override;
    std::optional<size_t> size_of(kv::Table table, kv::Bytes key) override;
    void put(kv::Table table, kv::Bytes key, kv::Bytes value) override;
    void erase(kv::Table table, kv::Bytes key) override;
    std::unique_ptr<kv::Cursor> cursor(kv::Table table) override;
    size_t changed_bytes() const override { return changes_.size(); }
    void mark() override { marks_.push_back(changes_.size()); }
    void roll_back() override;
    void forget_mark() override { marks_.pop_back(); }
    void commit() override;

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
    // Returns the one of the library's two sessions that reads now.
    WT_SESSION* reading() const { return has_snapshot_ ? snapshot_.get() : session_.get(); }
    // A row of that size has been read: memory of a large one is given back at the end of the turn.
    void note_read(size_t bytes) { has_read_large_ |= kv::LargeRow::is_large(bytes); }
    // Counts the times at which all cursors have lost their places.
    uint64_t resets() const { return resets_; }
    const kv::Host& host() const { return host_; }
    // A session with changes does not wait: the one that reads may wait for room in the cache,
    // which they take.
    std::unique_lock<std::mutex> take_read_turn() const {
        return is_begun_ ? std::unique_lock<std::mutex>() : connection_.read_turns().take();
    }
    // Calls until the library has done it, and returns its answer.
    template <typename Call>
    int call(const Call& call) {
        for (int tries = 0;; ++tries) {
            const int status = call_once(call);
            if (status != WT_ROLLBACK) return status;
            if (has_snapshot_) fail_snapshot();
            make_again();
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
    void change(kv::Table table, kv::Bytes key, const kv::Bytes* value);
    // Adds to changes_.
    void note_change(kv::Table table, kv::Bytes key, const kv::Bytes* value);
    // Leaves the first `kept` bytes of changes_.
    void drop_changes(size_t kept);
    void begin();
    void begin_transaction(WT_SESSION* session) const;
    void lose_places();
    void give_buffers_back();
    [[noreturn]] void fail_snapshot();
    // Repeats the changes, after the library has rolled back, until it takes them all.
    void make_again();
    int make_changes();

    const Connection& connection_;
    const Tables& tables_;
    const kv::Host& host_;
    const Faults& faults_;
    const Committed committed_;
    const SessionHandle session_;
    SessionHandle snapshot_;  // null: never was
    bool has_snapshot_ = false;
    bool is_begun_ = false;         // a transaction of changes
    std::vector<uint8_t> changes_;  // of it
    std::vector<size_t> marks_;     // how much of changes_ there was
    std::string found_;             // by get()
    bool has_read_large_ = false;   // in this turn
    uint64_t resets_ = 0;
    std::vector<EndedWithTurn*> cursors_;
};

}  // namespace wt
