// storage/kv/map.h - what the engine of this room needs of a library: an ordered map from
// bytes to bytes on disk, in numbered tables.
//
// The room ordered is a storage engine written once over such a map (engine.h): databases,
// collections and indexes as rows. A library comes in as a Map, perhaps in a shared object of its
// own, so this header needs no room; testing/memory_map.h is one in memory. Bytes given are copied;
// views live as long as is said. A map that cannot keep what it has promised ends the process; what
// else fails throws base::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>

namespace kv {

using Bytes = std::span<const uint8_t>;

// Numbers of tables that have gone are not given again while rows of them may be left.
enum class Table : uint32_t {};

// What its rows are, so that a map can lay them out.
enum class Kind { documents, entries };

// Walks the rows of one table in the order of their keys, compared as bytes. No key of a row is
// empty. key() and value() live until it moves.
class Cursor {
  public:
    virtual ~Cursor() = default;
    virtual void seek(Bytes key) = 0;         // the first row at or behind it
    virtual void seek_before(Bytes key) = 0;  // the last row before it
    virtual void seek_to_last() = 0;
    virtual bool at_end() const = 0;
    // What follows, down to value(), REQUIRES: !at_end().
    virtual void next() = 0;
    virtual void previous() = 0;
    virtual Bytes key() const = 0;
    virtual Bytes value() const = 0;
};

// Rows as one thread sees them: what was committed, and what it has changed since. No two sessions
// change the same row before one of them commits (row_locks.h).
class Session {
  public:
    virtual ~Session() = default;
    // Between these two it shows the rows as they are at the first, whatever others commit.
    // REQUIRES: nothing is changed, neither before nor between. Cursors end at both, as by a
    // commit.
    virtual void begin_snapshot() = 0;
    virtual void end_snapshot() = 0;
    // A table that was not added has no rows. *value lives until the next get(), whatever is
    // changed or committed. False if there is no such row.
    virtual bool get(Table table, Bytes key, Bytes* value) = 0;
    // Bytes of the row's value; nothing if there is no such row. Leaves what get() has given.
    virtual std::optional<size_t> size_of(Table table, Bytes key) = 0;
    // REQUIRES: the table was added, by this map or one before it.
    virtual void put(Table table, Bytes key, Bytes value) = 0;
    virtual void erase(Table table, Bytes key) = 0;
    // Shows the rows as they are now. Changes of this table, and a commit after such changes, end
    // it: it may then only be destroyed.
    virtual std::unique_ptr<Cursor> cursor(Table table) = 0;
    // Since the last commit; 0: nothing.
    virtual size_t changed_bytes() const = 0;
    // All of it becomes visible to others, and is in the log, which need not be on the device.
    virtual void commit() = 0;
    // The thread gives the session back. Cursors that are left, as of a query whose answer is still
    // to be sent, may only be destroyed, by any thread and at any time.
    virtual void end_cursors() {}
};

class Map {
  public:
    virtual ~Map() = default;
    virtual std::unique_ptr<Session> session() = 0;
    // Makes a table, if it is not there. It is kept when rows of it are committed, perhaps without.
    // Throws base::Error where there can be no more.
    virtual void add_table(Table /*table*/, Kind /*kind*/) {}
    // Whether a table that was made is there with all its files.
    virtual bool has_table(Table /*table*/) const { return true; }
    // At the start, before a cursor looks at it: looks through a table, and keeps what can be read
    // of a damaged one. False: that is nothing, and it is not there any more.
    virtual bool repair(Table /*table*/) { return true; }
    // At the start: removes all tables but these, and what a kill has left of others.
    virtual void keep_only(const std::set<Table>& /*tables*/) {}
    // Removes a table and all its rows that no cursor looks at any more; when this returns, or
    // later, but then also after a restart.
    virtual void drop(Table table) = 0;
    // All that was committed before is on the device.
    virtual void sync_log() = 0;
    // The same without the log: begins that or, to `wait`, has done it.
    virtual void checkpoint(bool wait) = 0;
    // Between these two nothing changes the files, as long as nothing is committed.
    virtual void pause() {}
    virtual void resume() {}
    // Throws base::Error 14031 where the disk has no room for changes. `begun` bytes of them are
    // not committed yet, by all sessions, that of the caller included.
    virtual void check_space(uint64_t /*begun*/ = 0) {}
    // Whether commits take long at present, since the map has to catch up with what was written.
    virtual bool is_stalling() const { return false; }
    // What the rows of a table take on the device, about; nothing: unknown.
    virtual std::optional<int64_t> disk_bytes(Table /*table*/) const { return std::nullopt; }
    // Metrics of the library, for serverStatus.
    using AddMetric = std::function<void(const char* name, int64_t value)>;
    virtual void report(const AddMetric& /*add*/) const {}
};

}  // namespace kv
