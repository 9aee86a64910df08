// storage/wiredtiger/tables.h - which tables there are: making and dropping them.
//
// The library removes the file of a dropped table at once and for good. So a drop is a row in a
// table of this room until it is on the device that the table is dropped.
//
// A kill while the library makes or drops a table leaves parts of it: what it knows of the table
// without a file, or a file of which it knows nothing. Such a table is not there; its number can be
// given again.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "storage/wiredtiger/connection.h"

namespace wt {

// What the library calls it: "table:t17".
std::string uri_of(kv::Table table);
// Its file in the directory.
std::string file_of(kv::Table table);

class Tables {
  public:
    // Before the library opens them: throws base::Error where the directory has more files than the
    // process may have open.
    static void check_files(const kv::Host& host, const std::string& directory);

    // Finishes drops that a restart has interrupted.
    Tables(const Connection& connection, const kv::Host& host, std::string directory);

    bool has(kv::Table table) const;
    // With those of which parts are left.
    std::set<kv::Table> all() const;
    // At the start: see kv::Map.
    bool repair(kv::Table table);
    // At the start: those of tables that the library does not know.
    void remove_strange_files() const;

    // Throws base::Error where the process may not have so many files open.
    void add(kv::Table table, kv::Kind kind);
    // It has no rows from now on.
    void drop(kv::Table table);
    // Those whose files are still there.
    std::vector<kv::Table> dropped() const;
    bool is_dropped(kv::Table table) const;
    // REQUIRES: that these are dropped is on the device.
    void remove_files_of(const std::vector<kv::Table>& dropped);

  private:
    void read_tables();
    void open_drops();
    // The answer of the library.
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
