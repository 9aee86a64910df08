// crash/testing/setting.h - how the server and the disk of one history are set up.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "journal/journal.h"
#include "os/testing/sim_file_system.h"
#include "storage/mmapv1/engine.h"

namespace crash {

inline constexpr const char* kDbpath = "/db";

struct Setting {
    static constexpr uint64_t kJournalDevice = 2;
    using Options = std::vector<std::pair<std::string, std::string>>;  // names and values

    bool directory_per_db = false;
    bool nopreallocj = false;
    bool spare_files = false;  // an earlier run has left prealloc.<n>
    bool long_spares = false;  // it made longer ones
    bool slow_growth = false;  // the speed test of journal preallocation says yes
    bool own_device = false;   // for the journal; all else lies on device 1
    bool old_blocks = false;   // files that grow may show them
    bool calls_fail = false;   // now and then one, and mostly the server with it
    os::SimFileSystem::FailedPages failed_pages = os::SimFileSystem::FailedPages::stay_dirty;
    // Lives without a journal alternate with lives with one.
    bool journal_changes = false;
    unsigned addresses = 1;  // where mappings lie
    size_t sector_bytes = 512;
    uint64_t journal_file_bytes = journal::kSmallLimitBytes;
    uint64_t megabyte = 1 << 20;  // of options that patches add
    // Syncs that the disk ignores (os::SimFileSystem::ignore): only to see that this shows.
    std::vector<std::pair<os::SimFileSystem::Call, std::string>> lies;
    // The options that patches add, whichever are built in. They are for one life: the next has
    // others.
    Options options;

    std::string text() const;
    mmapv1::EngineOptions engine_options(bool journal) const;
    // Returns the options for one of many short starts: without the speed test of journal
    // preallocation.
    mmapv1::EngineOptions quick_engine_options(bool journal) const {
        mmapv1::EngineOptions engine = engine_options(journal);
        engine.durable.no_prealloc_journal = true;
        return engine;
    }
    // Sets `options`, and all others that patches add to their defaults. Concerns the process.
    void apply_options() const;
    // An empty dbpath as it says.
    std::unique_ptr<os::SimFileSystem> make_disk() const;
};

// Makes the setting of a turn, but for its options.
Setting make_setting(uint64_t seed, uint64_t turn);

// How many choices of options there are: none, each one, each two.
size_t option_choices();
// Every history has so many lives, and their choices follow on those of the history before: a third
// as many histories as there are choices meet all of them.
inline constexpr uint64_t kLivesAtLeast = 3;
size_t option_choice(uint64_t history, uint64_t life);
Setting::Options make_options(uint64_t seed, size_t choice);
// Half of all, for the lives behind those.
Setting::Options some_options(uint64_t seed);

}  // namespace crash
