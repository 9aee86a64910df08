// os/testing/sim_file_system.h - a file system in memory for tests: records every call, fails on
// demand, and shows what a kill or a power cut can leave.
//
// SIMULATED. After a kill (process_kill) everything that the system had is there. After a power cut
// (power_cut), as on a file system with an honest disk:
//  - bytes and length of a file as of its last sync (or msync of its shared mapping);
//  - of a sector written since: what it was then, or any content that it had at any time since,
//    each sector by itself. A store into a shared mapping is an event (os::Mapping::store) and may
//    reach the disk at once, later or never, also before what was stored earlier. Sectors are what
//    the caller says: 512 or 4096 bytes. 8 versions of a block of 512 bytes are kept;
//  - of a length changed since: any that it had. If a file grew by writing and not by allocate(),
//    old blocks of removed and cut files may show (show_old_blocks);
//  - names as of the last sync of their directory, and any of the later changes in that directory,
//    each by itself: a rename inside a directory is one change, one between two directories is two.
//    A directory's own name is its parent's affair; those in / are there for good.
//
// Failures: any call on demand (fail); all calls of one of several devices (fail_device); a failed
// sync that leaves pages dirty, or makes the system take them for clean although some have not
// reached the device, as Linux does (after_failed_sync); no room for what was written when it is
// written back (set_full_at_write_back); no room for allocate() (set_full); short writes; SIGBUS
// for a store into a page that the device does not give or has no room for (end_at_store).
//
// Mappings lie at random, often where one of another file was before that is gone.
//
// NOT SIMULATED: SIGBUS for a look at such a page. It changes nothing on the disk, so that a kill
// at the call or the store beside it leaves the same; and it is a plain load of the processor,
// which only a signal of its own could tell of, where no thread can be unwound. Sectors that are
// unreadable or hold garbage after a cut; times, owners and permissions; hard and symbolic links.
// A private view is copied whole when it is mapped and remapped, so it never shows later stores
// into a shared view of pages that it has not copied. An undeclared store is seen at the next call
// but store(), as one with all others since the last check.
//
// And as Windows (behave_like_windows), journal spec 3.4:
//  - bytes of a direct write are there as far as the file's durable length goes;
//  - a write of a file opened with write_through, and any sync, makes durable the file, and all
//    names up to then; names change in their order;
//  - sync_data() is a call only where os::FlushRule says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "os/file_system.h"
#include "os/testing/choices.h"
#include "os/testing/sim_content.h"

namespace os {

class SimFileSystem final : public FileSystem {
  public:
    enum class Call {
        open,
        close,
        read,
        write,  // at the position
        write_at,
        seek,
        sync,
        sync_data,
        truncate,
        allocate,
        create_directory,
        remove,
        rename,
        sync_directory,
        map,
        sync_mapping,
        store,  // into a shared mapping
        expect_random_access,
        read_ahead,
    };
    struct Event {
        Call call;
        std::string path;
        uint64_t offset = 0;
        uint64_t bytes = 0;
    };
    enum class FailedPages { stay_dirty, count_as_clean };

    // The seed decides where mappings lie.
    explicit SimFileSystem(unsigned seed = 1);
    ~SimFileSystem() override;

    // Called before each recorded call is carried out, by the calling thread.
    // REQUIRES: no other thread uses the files while it is set.
    void set_observer(std::function<void(const Event&)> observer);
    std::vector<Event> events() const;
    void clear_events();
    // Observers are still called.
    void keep_no_events() { keeps_events_ = false; }
    // Promises that each store into a mapping goes through Mapping::store(), so that stores need
    // not be searched for.
    void stores_are_reported() { stores_are_reported_ = true; }
    // Lets a coming call fail: the one after `skip` others of that kind on a path that ends so.
    void fail(Call call, const std::string& path_end, std::errc reason, int skip = 0);
    // Every call that changes or syncs something on that device fails from now on.
    void fail_device(uint64_t device, std::errc reason);
    // Whether any call has failed for one of these reasons.
    bool has_failed() const { return has_failed_; }
    // A coming store into a shared mapping, the one after `skip` others on paths that end so, finds
    // that its last page is not there. The bytes in the pages before it are stored; then `end` is
    // called by the storing thread. It must not return: the system ends a process by SIGBUS.
    void end_at_store(const std::string& path_end, int skip, std::function<void()> end);
    // Makes the disk lie: syncs of that kind, on paths that have this in them, do nothing, also
    // after a cut or a kill. Shows what relies on them.
    void ignore(Call call, const std::string& path_part) { ignored_.emplace_back(call, path_part); }
    // Sets the fate of the pages of a sync that fails.
    void after_failed_sync(FailedPages pages) { failed_pages_ = pages; }
    void set_free_bytes(uint64_t bytes);
    void set_full(bool full) { full_ = full; }  // allocate() finds no space
    // Files grow, but the sync that needs the room for it fails.
    void set_full_at_write_back(bool full) { full_at_write_back_ = full; }
    void set_device(const std::string& path, uint64_t device);  // and of all below it
    void set_largest_write(size_t bytes);                       // write_some() stops there
    void show_old_blocks() { shows_old_blocks_ = true; }
    void behave_like_windows() { like_windows_ = true; }

    // The state after a power cut now. `sector_bytes`: what is written as a whole or not at all.
    std::unique_ptr<SimFileSystem> power_cut(Choices& choices, size_t sector_bytes) const;
    // The system writes back dirty sectors of mapped or buffered files on its own.
    void write_back(Choices& choices, size_t sector_bytes);
    // A process kill: everything that was written is there, and what was not synced can still be
    // lost by a later power cut. `forgets`: pages that count as clean are read from the device
    // again, so what a failed sync has left out of them is gone.
    std::unique_ptr<SimFileSystem> process_kill(bool forgets = false) const;

    // The file as its program sees it, in its private view if it has one: the same for the same
    // bytes, 0 for nothing but zeros.
    uint64_t print_of(const std::string& path) const;

    std::unique_ptr<File> open(const std::string& path, const OpenOptions& options) override;
    std::unique_ptr<Mapping> map(File& file, MapKind kind, uint64_t length) override;
    bool has_write_through() const override { return like_windows_; }
    bool exists(const std::string& path) override;
    bool is_directory(const std::string& path) override;
    uint64_t file_length(const std::string& path) override;
    std::vector<std::string> list(const std::string& directory) override;
    void create_directory(const std::string& path) override;
    void remove(const std::string& path) override;
    void rename(const std::string& from, const std::string& to) override;
    void sync_directory(const std::string& path) override;
    uint64_t free_bytes(const std::string& path) override;
    std::optional<uint64_t> device_of(const std::string& path) override;

  private:
    friend class SimFile;
    friend class SimMapping;

    struct Node;  // a file or a directory
    using NodePtr = std::shared_ptr<Node>;
    using Names = std::map<std::string, NodePtr>;
    struct NameChange {
        uint64_t time;
        std::string removed;  // empty: none
        std::string added;
        NodePtr node;
    };
    struct Fault {
        Call call;
        std::string path_end;
        std::errc reason;
        int skip;
    };

    struct MissingPage {
        std::string path_end;
        int skip;
        std::function<void()> end;
    };

    static void apply(const NameChange& change, Names& names);
    static void collect_directories(const NodePtr& node, std::vector<NodePtr>& found);
    NodePtr find(const std::string& path) const;     // null if there is none
    NodePtr node_of(const std::string& path) const;  // throws not found
    NodePtr directory_of(const std::string& path) const;
    void change_names(const NodePtr& directory, std::string removed, std::string added,
                      NodePtr node);
    void drop(const NodePtr& node);  // an entry of it is gone
    void make_all_names_durable();
    void record(Call call, const std::string& path, uint64_t offset = 0, uint64_t bytes = 0);
    std::optional<std::errc> failure_of(const Event& event);
    [[noreturn]] void fail_as_told(const char* call, const std::string& path, std::errc reason);
    // Returns the function that ends the process that stores there now; empty: none does.
    std::function<void()> end_of_store(const std::string& path);
    // Records as record() does, for a sync of `node`, which loses pages if it fails.
    void record_sync(Call call, const std::string& path, Node& node);
    void look_at_memory() const;
    bool is_ignored(Call call, const std::string& path) const;
    uint64_t device_at(const std::string& path) const;
    std::unique_ptr<SimFileSystem> fresh_copy() const;

    mutable std::mutex mutex_;
    NodePtr root_;
    const unsigned seed_;
    const std::shared_ptr<sim::Addresses> addresses_;
    mutable uint64_t time_ = 0;  // rises with each change
    sim::OldContents old_;
    std::vector<Event> events_;
    std::vector<Fault> faults_;
    std::optional<MissingPage> missing_page_;
    std::map<uint64_t, std::errc> failed_devices_;
    std::vector<std::pair<Call, std::string>> ignored_;
    std::function<void(const Event&)> observer_;
    uint64_t free_bytes_ = uint64_t{1} << 40;
    size_t largest_write_ = SIZE_MAX;
    bool like_windows_ = false;
    bool keeps_events_ = true;
    bool stores_are_reported_ = false;
    bool shows_old_blocks_ = false;
    FailedPages failed_pages_ = FailedPages::stay_dirty;
    std::atomic<bool> has_failed_{false};
    std::atomic<bool> full_{false};
    std::atomic<bool> full_at_write_back_{false};
    std::map<std::string, uint64_t> devices_;
};

}  // namespace os
