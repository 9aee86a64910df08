// storage/wiredtiger/tables.h - which tables there are: making and dropping them.
//
// The library removes the file of a dropped table at once and for good. A drop is therefore a row
// in a table of this room until the drop is on the device.
//
// A kill while the library makes or drops a table leaves parts of it: the library's entry for the
// table without a file, or a file that the library does not know. Such a table is not there; its
// number can be given again.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "storage/wiredtiger/connection.h"

namespace wt {

// Returns the library's name of the table: "table:t17".
std::string uri_of(kv::Table table);
// Returns the name of the table's file in the directory.
std::string file_of(kv::Table table);

class Tables {
  public:
    // Called before the library opens the files: throws base::Error if the directory has more of
    // them than the process may have open.
    static void check_files(const kv::Host& host, const std::string& directory);

    // Finishes drops that a restart has interrupted.
    Tables(const Connection& connection, const kv::Host& host, std::string directory);

    bool has(kv::Table table) const;
    // Returns all tables, with those of which only parts are left.
    std::set<kv::Table> all() const;
    uint32_t end() const;  // see kv::Map::tables_end()
    // Repairs a table at the start: see kv::Map.
    bool repair(kv::Table table);
    // Removes, at the start, the files of tables that the library does not know.
    void remove_strange_files() const;

    // Throws base::Error if the process may not have so many files open.
    void add(kv::Table table, kv::Kind kind);
    // Drops the table: it has no rows from now on.
    void drop(kv::Table table);
    // Returns the dropped tables whose files are still there.
    std::vector<kv::Table> dropped() const;
    bool is_dropped(kv::Table table) const;
    // REQUIRES: the drops of these tables are on the device.
    void remove_files_of(const std::vector<kv::Table>& dropped);

  private:
    void read_tables();
    void open_drops();
    // Returns the answer of the library.
    int drop_now(kv::Table table);
    void read_drops();
    // Writes the row of a drop, or removes it.
    void note_drop(kv::Table table, bool is_done);

    const kv::Host& host_;
    const std::string directory_;
    const size_t tables_max_;
    mutable std::mutex session_mutex_;
    SessionHandle session_;       // guarded by session_mutex_
    std::set<kv::Table> there_;   // guarded by session_mutex_
    std::set<kv::Table> broken_;  // guarded by session_mutex_: parts of them are left
    std::atomic<bool> has_drops_{false};
    mutable std::mutex drops_mutex_;
    std::set<kv::Table> drops_;  // guarded by drops_mutex_
};

}  // namespace wt
