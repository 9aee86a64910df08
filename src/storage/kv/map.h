// storage/kv/map.h - what the engine of this room needs of a library: an ordered map from
// bytes to bytes on disk, in numbered tables.
//
// This room is a storage engine written once over such a map (engine.h): databases, collections and
// indexes are rows. A library comes in as a Map, perhaps in a shared object of its own, so this
// header needs no room; testing/memory_map.h is one in memory. A map copies the bytes that it is
// given; views live as long as is said. A map that cannot keep what it has promised ends the
// process; every other failure throws base::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace kv {

using Bytes = std::span<const uint8_t>;

// A table's number is not given again after its drop while rows of the table may be left.
enum class Table : uint32_t {};

// The kind of rows that a table has, so that a map can lay them out.
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
    // REQUIRES: !at_end(), for this function and the ones down to value().
    virtual void next() = 0;
    virtual void previous() = 0;
    virtual Bytes key() const = 0;
    virtual Bytes value() const = 0;
};

// A change of a row; nothing as value: the row goes. Key and value live until it was used.
struct Change {
    Table table;
    Bytes key;
    std::optional<Bytes> value;
};

// What a commit changes: a later change of a row replaces the former.
class Batch {
  public:
    // Returns how much memory the changes take.
    virtual size_t bytes() const = 0;
    // Calls `use` with each of them in their order, while it returns true; returns whether it
    // always did.
    virtual bool each(const std::function<bool(const Change&)>& use) const = 0;
    // Calls `use` with each of them in their order, for the last time: the memory of what was used
    // goes.
    virtual void take(const std::function<void(const Change&)>& use) = 0;

  protected:
    ~Batch() = default;
};

// Shows the committed rows to one thread, and commits its changes. What it has changed since its
// last commit is not the map's: overlay.h.
class Session {
  public:
    virtual ~Session() = default;
    // Between these two calls the session shows the rows as they are at the first, whatever others
    // commit. REQUIRES: it applies nothing in between. Its cursors end at both calls.
    virtual void begin_snapshot() = 0;
    virtual void end_snapshot() = 0;
    // Points *value at the row's value and returns true; returns false if there is no such row.
    // *value lives until the next get(), whatever is committed. A table that was not added has no
    // rows.
    virtual bool get(Table table, Bytes key, Bytes* value) = 0;
    // Returns how many bytes the row's value has; nothing if there is no such row. The value that
    // get() has given stays valid.
    virtual std::optional<size_t> size_of(Table table, Bytes key) = 0;
    // Returns a cursor that shows the rows as they are now. A commit of this session that changes
    // the table ends it: it may then only be destroyed.
    virtual std::unique_ptr<Cursor> cursor(Table table) = 0;
    // Makes the changes visible to others, all at once, and puts them into the log, which need not
    // be on the device. A map that cannot do it ends the process. REQUIRES: the tables were added,
    // by this map or one before it; no other session applies changes of these rows at the same
    // time (row_locks.h).
    virtual void apply(Batch& changes) = 0;
    // Called when the thread gives the session back. Cursors that are left, as of a query whose
    // answer is still to be sent, may only be destroyed, by any thread and at any time.
    virtual void end_cursors() {}
};

// Of Map::copy_to().
struct Copy {
    std::string directory;
    // Called with the bytes of each piece before it is written there; what it throws ends the copy.
    // A link to a file has none.
    std::function<void(uint64_t bytes)> before_piece;
    // From the first to the second nothing is committed.
    std::function<void()> hold_commits, may_commit;
};

class Map {
  public:
    virtual ~Map() = default;
    virtual std::unique_ptr<Session> session() = 0;
    // Makes a table, if it is not there. The table is kept when rows of it are committed, perhaps
    // without. Throws base::Error if there can be no more tables.
    virtual void add_table(Table /*table*/, Kind /*kind*/) {}
    // Whether a table that was made is there with all its files.
    virtual bool has_table(Table /*table*/) const { return true; }
    // Called at the start, before a cursor looks at the table: looks through it, and keeps what can
    // be read of a damaged one. Returns false if nothing can be read; the table is then not there
    // any more.
    virtual bool repair(Table /*table*/) { return true; }
    // Returns a number behind those of all tables, also of those whose drop is not finished: these
    // may go at any moment.
    virtual uint32_t tables_end() const { return 0; }
    // Called at the start: removes all tables but these, and what a kill has left of others.
    virtual void keep_only(const std::set<Table>& /*tables*/) {}
    // Removes a table and all its rows that no cursor looks at any more, before it returns or
    // later, and in that case also after a restart.
    virtual void drop(Table table) = 0;
    // Returns when every change that was committed before is on the device.
    virtual void sync_log() = 0;
    // Writes the committed changes to the device without the log: begins that or, to `wait`, has
    // done it.
    virtual void checkpoint(bool wait) = 0;
    // Makes a directory and in it a copy of all rows that were committed before the call; it need
    // not be on the device. Later ones may be there, too, in the order of their commits.
    virtual void copy_to(const Copy& copy) = 0;
    // Between these two calls nothing changes the files, as long as nothing is committed.
    virtual void pause() {}
    virtual void resume() {}
    // Throws base::Error 14031 if the disk has no room for changes. `begun` bytes of them are not
    // committed yet, by all sessions, the caller's included.
    virtual void check_space(uint64_t /*begun*/ = 0) {}
    // Returns the bytes of rows that may be changed together: a larger commit might need more
    // memory than the process may have.
    virtual int64_t commit_bytes_max() const { return std::numeric_limits<int64_t>::max(); }
    // Whether changes wait for room in a cache that has to keep what snapshots show.
    virtual bool is_short_of_cache() const { return false; }
    // Returns about how many bytes the rows of a table take on the device; nothing: unknown.
    virtual std::optional<int64_t> disk_bytes(Table /*table*/) const { return std::nullopt; }
    // Reports metrics of the library, for serverStatus.
    using AddMetric = std::function<void(const char* name, int64_t value)>;
    virtual void report(const AddMetric& /*add*/) const {}
};

}  // namespace kv
