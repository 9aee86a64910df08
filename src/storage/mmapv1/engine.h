// storage/mmapv1/engine.h - the memory-mapped engine behind storage::Engine.
//
// Start-up, in this order: take the lock file; check storage.bson, the places of the data files and
// the journal folder against the options; look through the journal; write the process id; empty
// _tmp and replay the journal; start the journal; open every database and finish what an older
// server left behind (2.4's $freelist, ancient capped layout). shutdown() is the way back: commit,
// flush, close, remove the journal, empty the lock file.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>

#include "os/file_system.h"
#include "storage/engine.h"
#include "storage/mmapv1/commit/durable.h"
#include "storage/mmapv1/database.h"
#include "storage/mmapv1/mapping/dbpath_lock.h"
#include "storage/mmapv1/salvage/raw_files.h"
#include "storage/mmapv1/space/data_files.h"

namespace mmapv1 {

struct EngineOptions {
    std::string dbpath;
    FilePolicy files;                  // directoryperdb, smallfiles, nssize
    bool follow_journal_link = false;  // journal/ may be a link; no other one is followed
    bool repair = false;               // allows starting on an unclean lock file without a journal
    // Its dbpath and directory_per_db are taken from above; small_files limits journal files too.
    DurableOptions durable;
};

// Returns the contents of storage.bson, which later servers and other engines write; nothing if
// there is none. Throws base::Error if it is damaged.
std::optional<bson::Object> read_storage_metadata(os::FileSystem& files, const std::string& dbpath);

// Throws base::Error when storage.bson names another engine or another directoryPerDB (mmapv1
// spec 1.5).
void check_storage_metadata(os::FileSystem& files, const std::string& dbpath,
                            bool directory_per_db);

class MmapEngine final : public storage::Engine {
  public:
    // See open_engine(). `files` and `clock` outlive the engine.
    MmapEngine(const EngineOptions& options, os::FileSystem& files, os::Clock& clock)
        : MmapEngine(options, nullptr, &files, clock) {}
    MmapEngine(const EngineOptions& options, std::unique_ptr<os::FileSystem> files,
               os::Clock& clock);
    ~MmapEngine() override;

    std::string_view name() const override { return "mmapv1"; }
    storage::LockManager& locks() override { return locks_; }
    Durable& durability() override { return durable_; }

    std::vector<std::string> database_names() const override;
    std::vector<std::string> unusable_databases() const override;
    bool may_open_now(std::string_view db) const override;
    bool open_again(std::string_view db) override;
    int64_t database_bytes(std::string_view db) const override;
    // Throws base::Error for a database that could not be opened.
    storage::DatabaseStore* database(std::string_view db) override;
    storage::DatabaseStore& create_database(std::string_view db) override;
    std::unique_ptr<storage::Remains> drop_database(std::string_view db) override;
    std::unique_ptr<storage::Remains> finish_drop(std::string_view db) override;
    // Unmaps the files and maps them again.
    void close_database(std::string_view db) override;
    std::string scratch_directory() const override;
    void shutdown() override;

  private:
    struct Unusable {
        std::string why;
        bool may_pass;     // a call to the system has failed, nothing is wrong with the files
        bool since_start;  // it has never been open
    };

    MmapEngine(const EngineOptions& options, std::unique_ptr<os::FileSystem> owned,
               os::FileSystem* files, os::Clock& clock);
    void start();
    void open_database(const std::string& db, bool at_start);
    void note_unusable(const std::string& db, Unusable reason);
    void warn_of_what_is_left_alone(const DatabasesOnDisk& found) const;
    std::string directory_of(const std::string& db) const;
    void remove_remnants(const std::string& db);
    void take_back_namespace_file(const std::string& db);
    class OpenFiles;
    void remove_dropped(const std::string& db, OpenFiles& remains);
    int64_t length_of_files(std::string_view db) const;
    std::vector<std::string> data_files_of(const std::string& db) const;

    const std::unique_ptr<os::FileSystem> owned_files_;  // null: files_ is not owned
    EngineOptions options_;
    os::FileSystem& files_;
    DiskRoom room_;
    storage::LockManager locks_;
    DbpathLock dbpath_lock_;
    Durable durable_;
    PaddingSamplers samplers_;

    mutable std::shared_mutex mutex_;
    // Guarded by mutex_.
    std::map<std::string, std::unique_ptr<MmapDatabase>, std::less<>> databases_;
    std::map<std::string, Unusable, std::less<>> unusable_;
    std::set<std::string, std::less<>> half_dropped_;  // by a drop that has failed; are not there
    std::atomic<bool> any_may_pass_{false};  // written with mutex_ held; a hint for readers
};

// Throws base::Error when the dbpath cannot be used: held by another process (10310), unclean
// without a journal (12596), journal files present but journaling off (13597), written by another
// engine, or with another directoryperdb (72), a journal that names files which are none of a
// database's (13546). The text says what to do.
//
// Whatever the dbpath holds, nothing outside of it is opened, changed or removed
// (os/confined_file_system.h).
std::unique_ptr<MmapEngine> open_engine(const EngineOptions& options);
// Opens an engine on another file system, for tests.
std::unique_ptr<MmapEngine> open_engine(const EngineOptions& options, os::FileSystem& files,
                                        os::Clock& clock = os::system_clock());

}  // namespace mmapv1
