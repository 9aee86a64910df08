// os/testing/sim_file_system.h - a file system in memory for tests: records every call, fails on
// demand, and shows what a power cut can leave.
//
// What is guaranteed after a cut, as on a journalling file system with an honest disk:
//  - bytes and length of a file as of its last sync (or msync of its shared mapping);
//  - names as of the last sync of a directory, and any number of later changes, in their order;
//  - of bytes written since, any subset of sectors; of a length changed since, either.
// Bytes of one sector written several times since a sync count as one write.
//
// And as Windows (behave_like_windows), journal spec 3.4:
//  - bytes of a direct write are there as far as the file's durable length goes;
//  - a write of a file opened with write_through, and any sync, makes durable the file, and all
//    names up to then;
//  - sync_data() is a call only where os::FlushRule says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "os/file_system.h"

namespace os {

// Decides what survives. A run of choices can be exhausted: see EveryChoice.
class Choices {
  public:
    virtual ~Choices() = default;
    virtual size_t choose(size_t alternatives) = 0;  // 0 .. alternatives - 1
};

// Walks the whole tree of choices: do { use } while (next()).
class EveryChoice final : public Choices {
  public:
    size_t choose(size_t alternatives) override;
    bool next();

  private:
    struct Step {
        size_t chosen, alternatives;
    };
    std::vector<Step> steps_;
    size_t at_ = 0;
};

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
    };
    struct Event {
        Call call;
        std::string path;
        uint64_t offset = 0;
        uint64_t bytes = 0;
    };

    SimFileSystem();
    ~SimFileSystem() override;

    // Called before each recorded call is carried out, by the calling thread.
    void set_observer(std::function<void(const Event&)> observer);
    std::vector<Event> events() const;
    void clear_events();
    // Lets a coming call fail: the one after `skip` others of that kind on a path that ends so.
    void fail(Call call, const std::string& path_end, std::errc reason, int skip = 0);
    void set_free_bytes(uint64_t bytes);
    void set_full(bool full) { full_ = full; }                  // allocate() finds no space
    void set_device(const std::string& path, uint64_t device);  // and of all below it
    void set_largest_write(size_t bytes);                       // write_some() stops there
    void behave_like_windows() { like_windows_ = true; }

    // The state after a power cut now. `sector_bytes`: what is written as a whole or not at all.
    std::unique_ptr<SimFileSystem> power_cut(Choices& choices, size_t sector_bytes) const;
    // The system writes back dirty sectors of mapped or buffered files on its own.
    void write_back(Choices& choices, size_t sector_bytes);
    // A process kill: everything that was written is there, and what was not synced can still be
    // lost by a later power cut.
    std::unique_ptr<SimFileSystem> process_kill() const;

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

    struct Node;  // a file's bytes now and as of the last sync; a directory has none
    using Names = std::map<std::string, std::shared_ptr<Node>>;
    struct NameChange {
        std::string removed;  // empty: none
        std::string added;
        std::shared_ptr<Node> node;
    };
    struct Fault {
        Call call;
        std::string path_end;
        std::errc reason;
        int skip;
    };

    static void apply(const NameChange& change, Names& names);
    std::shared_ptr<Node> node_of(const std::string& path) const;  // throws not found
    void change_names(NameChange change);
    void make_names_durable(size_t changes);
    void record(Call call, const std::string& path, uint64_t offset = 0, uint64_t bytes = 0);

    mutable std::mutex mutex_;
    Names names_;  // as a running program sees them
    Names durable_names_;
    std::vector<NameChange> pending_;  // what turns durable_names_ into names_
    std::vector<Event> events_;
    std::vector<Fault> faults_;
    std::function<void(const Event&)> observer_;
    uint64_t free_bytes_ = uint64_t{1} << 40;
    size_t largest_write_ = SIZE_MAX;
    bool like_windows_ = false;
    std::atomic<bool> full_{false};
    std::map<std::string, uint64_t> devices_;
};

}  // namespace os
