// storage/mmapv1/commit/testing/core.h - what commits and recovers, without its threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "os/testing/sim_clock.h"
#include "storage/mmapv1/commit/group_commit.h"
#include "storage/mmapv1/commit/recovery.h"

namespace mmapv1 {

using Bytes = std::vector<uint8_t>;
// Content of every data file by name.
using Image = std::map<std::string, Bytes>;

// The core of a journal over a dbpath /db, with journal files of a few sections.
struct Core {
    using MakeWriter = std::function<std::unique_ptr<DataFileWriter>(const DataFileWriter::Parts&)>;
    Core(os::FileSystem& f, os::SimClock& clock,
         const MakeWriter& make_writer = make_data_file_writer)
        : os_files(f),
          journal(f, clock, counters, {"/db/journal", 3 * 8192, false, false}),
          files(f, "/db"),
          writer(make_writer({files, journal, counters, clock})),
          commit(locks, files, collector, latch, notifier, schedule, journal, *writer, counters,
                 clock, {}) {}

    void recover() {
        journal.create_directory();
        Recovery(os_files, files, journal, counters, {}).run();
        files.remove_scratch();
    }
    Image image() {
        Image result;
        for (const std::string& name : os_files.list("/db")) {
            const std::string path = os::join("/db", name);
            if (os_files.is_directory(path)) continue;
            Bytes& bytes = result[name];
            bytes.resize(os_files.file_length(path));
            os_files.open(path, {})->read_at(0, bytes);
        }
        return result;
    }

    os::FileSystem& os_files;
    journal::Counters counters;
    journal::Journal journal;
    FileSet files;
    CommitLatch latch;
    WriteCollector collector{latch};
    journal::CommitSchedule schedule{os::system_clock(), collector};
    CommitNotifier notifier{counters, schedule};
    storage::LockManager locks;
    const std::unique_ptr<DataFileWriter> writer;
    GroupCommit commit;
};

}  // namespace mmapv1
